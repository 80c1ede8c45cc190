package vision

import (
	"math"
	"math/cmplx"

	"agegate/internal/check/inference"
)

// anchor is a detected face with its landmarks. In the frames after it, face and
// crop are the anchor's, moved in the same way as the landmarks, so that the crop
// for the age estimate stays the detector's.
type anchor struct {
	face   Face
	crop   crop
	points []Point
	pose   Pose
}

// Limits of following a face.
const (
	levelFollow   = 7    // frames of a level face between two detections, so that a second face is noticed within some seconds
	longestFollow = 15   // frames of a turned face between two detections; detections place its box differently
	turnedFollow  = 10.0 // degrees of yaw or pitch from which a face is turned
	unlikeFollow  = 18.0 // difference of yaw or pitch from the anchor, in degrees, beyond which the anchor's landmarks no longer locate the face
	surePresence  = 0.9  // the mesh model's probability, below which the face is detected again
	driftedCrop   = 0.12 // distance of the face from the middle of its crop, as a share of the crop's side, beyond which the landmarks are unreliable
	resizedCrop   = 0.12 // the same for the change of its size, as a logarithm
)

// follow looks for the face where it was in the frame before and places its
// landmarks there. It reports whether a face is there.
func (o *Observation) follow(w inference.Worker, last *Observation) (found bool, err error) {
	if last == nil || last.anchor == nil || last.due() || last.Width*o.Height != last.Height*o.Width {
		return false, nil
	}
	used := last.crop.scaled(float64(o.Width) / float64(last.Width))
	o.Landmarks, o.Pose, o.Presence, err = landmarks(w, o.picture, used)
	if err != nil || o.Presence < surePresence {
		return false, err
	}
	o.Face, o.crop = last.anchor.moved(o.Landmarks)
	if math.Hypot(o.crop.x-used.x, o.crop.y-used.y) > driftedCrop*used.side || math.Abs(math.Log(o.crop.side/used.side)) > resizedCrop {
		return false, nil
	}
	o.anchor, o.followed = last.anchor, last.followed+1
	o.Guidance = framing([]Face{o.Face}, o.Width, o.Height)
	return o.Guidance != GuidanceNoFace, nil
}

// due reports whether the face should be detected in the next frame.
func (o *Observation) due() bool {
	turned := max(math.Abs(o.Pose.Yaw), math.Abs(o.Pose.Pitch)) > turnedFollow
	unlike := math.Hypot(o.Pose.Yaw-o.anchor.pose.Yaw, o.Pose.Pitch-o.anchor.pose.Pitch) > unlikeFollow
	return unlike || o.followed >= longestFollow || o.followed >= levelFollow && !turned
}

func (c crop) scaled(k float64) crop {
	return crop{x: k * c.x, y: k * c.y, side: k * c.side, angle: c.angle}
}

// moved returns the anchor's face and crop, moved by the similarity
// transformation that best maps its landmarks to the given ones (least squares
// over the complex plane).
func (a *anchor) moved(points []Point) (Face, crop) {
	var from, to complex128
	for i, p := range a.points {
		from, to = from+complex(p.X, p.Y), to+complex(points[i].X, points[i].Y)
	}
	n := complex(float64(len(points)), 0)
	from, to = from/n, to/n
	var cross complex128
	var square float64
	for i, p := range a.points {
		before := complex(p.X, p.Y) - from
		cross += cmplx.Conj(before) * (complex(points[i].X, points[i].Y) - to)
		square += real(before)*real(before) + imag(before)*imag(before)
	}
	turn := cross / complex(max(square, 1e-9), 0)
	place := func(x, y float64) (float64, float64) {
		z := to + turn*(complex(x, y)-from)
		return real(z), imag(z)
	}
	scale := cmplx.Abs(turn)
	f, c := a.face, a.crop
	f.X, f.Y = place(f.X, f.Y)
	f.Width, f.Height = scale*f.Width, scale*f.Height
	for i, k := range f.Keys {
		f.Keys[i].X, f.Keys[i].Y = place(k.X, k.Y)
	}
	c.x, c.y = place(c.x, c.y)
	c.side, c.angle = scale*c.side, c.angle+cmplx.Phase(turn)
	return f, c
}
