package vision

import (
	"math"

	"agegate/internal/check/inference"
)

// Indices of the landmarks used here, in MediaPipe's canonical face mesh.
const (
	forehead      = 10
	chin          = 152
	rightEyeOuter = 33 // the person's right, at the left of an unmirrored picture
	leftEyeOuter  = 263
)

// Pose is the direction of the head in degrees. Yaw is positive when the person
// turns to their own left, Pitch when they look up, Roll when the head leans
// clockwise in the picture.
type Pose struct{ Yaw, Pitch, Roll float64 }

// landmarks places the face mesh within the crop. presence is the model's
// probability that the crop shows a face at all.
func landmarks(w inference.Worker, p *picture, c crop) (points []Point, pose Pose, presence float64, err error) {
	in, tensor := w.Input(inference.Mesh)
	g := c.part(0, 0, 1, 1, in.Width, in.Height)
	p.fill(g, in, tensor)
	if err := w.Run(inference.Mesh); err != nil {
		return nil, pose, 0, err
	}
	raw := w.Output(inference.Mesh, "points")
	at := func(i int) Point {
		return Point{float64(raw[3*i]), float64(raw[3*i+1]), float64(raw[3*i+2])}
	}
	pose = poseOf(at(rightEyeOuter), at(leftEyeOuter), at(forehead), at(chin))
	pose.Roll += degrees(c.angle)
	scale := c.side / float64(in.Width)
	points = make([]Point, len(raw)/3)
	for i := range points {
		q := at(i)
		x, y := g.point(q.X, q.Y)
		points[i] = Point{x, y, q.Z * scale}
	}
	return points, pose, float64(w.Output(inference.Mesh, "presence")[0]), nil
}

// levelPitch is the measured pitch of faces that look straight ahead, because the line
// from forehead to chin leans: the median over 1,000 portraits (UTKFace).
const levelPitch = -9.0

// poseOf computes the pose from two lines of the mesh: across the eyes and down
// the face.
func poseOf(rightEye, leftEye, top, bottom Point) Pose {
	across := math.Hypot(leftEye.X-rightEye.X, leftEye.Y-rightEye.Y)
	down := math.Hypot(bottom.X-top.X, bottom.Y-top.Y)
	return Pose{
		Yaw:   degrees(math.Atan2(leftEye.Z-rightEye.Z, across)),
		Pitch: degrees(math.Atan2(top.Z-bottom.Z, down)) - levelPitch,
		Roll:  degrees(math.Atan2(leftEye.Y-rightEye.Y, leftEye.X-rightEye.X)),
	}
}

func degrees(radians float64) float64 { return radians * 180 / math.Pi }

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }
