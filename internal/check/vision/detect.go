package vision

import (
	"cmp"
	"math"
	"slices"

	"agegate/internal/check/inference"
)

// Face is one detected face, in pixels of the frame.
type Face struct {
	Score         float64 // probability
	X, Y          float64 // centre of the box
	Width, Height float64
	// Keys are the right eye, left eye (the person's own), nose tip, mouth,
	// right ear and left ear.
	Keys [6]Point
}

// Point is a position in pixels of the frame. Z, where known, has the same
// unit, grows away from the camera, and is 0 at the middle of the head.
type Point struct{ X, Y, Z float64 }

const (
	// minFaceScore is the minimum score of a face. BlazeFace gives clear faces 0.8 and
	// more, and chance patterns seldom over 0.5.
	minFaceScore = 0.5
	// sameFaceOverlap is the overlap (intersection over union) from which two
	// anchors count as the same face; two heads side by side stay below it.
	sameFaceOverlap = 0.3
)

// detect finds the faces in the picture, the largest first.
func detect(w inference.Worker, p *picture) ([]Face, error) {
	in, tensor := w.Input(inference.Detector)
	// The longer side of the picture fills the input; the rest is black.
	longer := float64(max(p.width, p.height))
	square := crop{x: float64(p.width) / 2, y: float64(p.height) / 2, side: longer}
	g := square.part(0, 0, 1, 1, in.Width, in.Height)
	p.fill(g, in, tensor)
	if err := w.Run(inference.Detector); err != nil {
		return nil, err
	}
	found := decodeBoxes(nil, w.Output(inference.Detector, "fine_scores"), w.Output(inference.Detector, "fine_boxes"), 16,
		2, in.Width)
	found = decodeBoxes(found, w.Output(inference.Detector, "coarse_scores"), w.Output(inference.Detector, "coarse_boxes"),
		8, 6, in.Width)
	faces := merge(found)
	for i := range faces {
		faces[i].place(g)
	}
	slices.SortFunc(faces, func(a, b Face) int { return cmp.Compare(b.Width*b.Height, a.Width*a.Height) })
	return faces, nil
}

// maxConfirmed is the maximum number of faces that confirmed checks in a picture.
const maxConfirmed = 3

// confirmed leaves out faces that the mesh model does not confirm, such as a pattern in
// the background or another part of the person. It checks only the first maxConfirmed
// faces. If none is confirmed, it keeps all.
func confirmed(w inference.Worker, p *picture, faces []Face) ([]Face, error) {
	var kept []Face
	for i := range faces {
		if i < maxConfirmed {
			_, _, presence, err := landmarks(w, p, faces[i].crop())
			if err != nil {
				return nil, err
			}
			if presence < minPresence {
				continue
			}
		}
		kept = append(kept, faces[i])
	}
	if len(kept) == 0 {
		return faces, nil
	}
	return kept, nil
}

// decodeBoxes appends the anchors that score as a face. The anchors of one cell have
// the same centre. A box has a centre relative to that of its anchor, a size, and six
// key points relative to the anchor, all in input pixels.
func decodeBoxes(found []Face, scores, boxes []float32, cells, anchors, input int) []Face {
	limit := float32(math.Log(minFaceScore / (1 - minFaceScore)))
	stride := float64(input) / float64(cells)
	for i, score := range scores {
		if score < limit || score != score {
			continue
		}
		cell := i / anchors
		x, y := stride*(float64(cell%cells)+0.5), stride*(float64(cell/cells)+0.5)
		b := boxes[i*16 : i*16+16]
		if !(b[2] > 0 && b[3] > 0) { // everything measured in face widths depends on it
			continue
		}
		f := Face{
			Score: 1 / (1 + math.Exp(-float64(score))),
			X:     x + float64(b[0]), Y: y + float64(b[1]),
			Width: float64(b[2]), Height: float64(b[3]),
		}
		for k := range f.Keys {
			f.Keys[k] = Point{X: x + float64(b[4+2*k]), Y: y + float64(b[5+2*k])}
		}
		found = append(found, f)
	}
	return found
}

// merge replaces each group of anchors for the same face by their mean, weighted
// by score. The mean is steadier from frame to frame than the best anchor alone.
func merge(found []Face) []Face {
	slices.SortFunc(found, func(a, b Face) int { return cmp.Compare(b.Score, a.Score) })
	var faces []Face
	for len(found) > 0 {
		best := found[0]
		var sum Face
		var rest []Face
		for _, f := range found {
			if f != best && overlap(best, f) < sameFaceOverlap && !best.within(f) {
				rest = append(rest, f)
				continue
			}
			sum.add(f, f.Score)
		}
		var mean Face
		mean.add(sum, 1/sum.Score)
		mean.Score = best.Score
		faces, found = append(faces, mean), rest
	}
	return faces
}

// add accumulates another face with a weight; Score collects the weights.
func (f *Face) add(other Face, weight float64) {
	f.Score += weight
	f.X += other.X * weight
	f.Y += other.Y * weight
	f.Width += other.Width * weight
	f.Height += other.Height * weight
	for k := range f.Keys {
		f.Keys[k].X += other.Keys[k].X * weight
		f.Keys[k].Y += other.Keys[k].Y * weight
	}
}

// overlap is the intersection of two boxes over their union.
func overlap(a, b Face) float64 {
	width := min(a.X+a.Width/2, b.X+b.Width/2) - max(a.X-a.Width/2, b.X-b.Width/2)
	height := min(a.Y+a.Height/2, b.Y+b.Height/2) - max(a.Y-a.Height/2, b.Y-b.Height/2)
	if width <= 0 || height <= 0 {
		return 0
	}
	both := width * height
	return both / (a.Width*a.Height + b.Width*b.Height - both)
}

// within reports whether the middle of the smaller box lies in the larger one. It
// detects a face that is so close that it is found both as a whole and in parts.
func (f Face) within(other Face) bool {
	smaller, larger := f, other
	if f.Width > other.Width {
		smaller, larger = other, f
	}
	return math.Abs(smaller.X-larger.X) < 0.5*larger.Width && math.Abs(smaller.Y-larger.Y) < 0.5*larger.Height
}

// place moves the face from detector input pixels to frame pixels.
func (f *Face) place(g grid) {
	f.X, f.Y = g.point(f.X, f.Y)
	f.Width, f.Height = f.Width*g.columnX, f.Height*g.rowY
	for k, key := range f.Keys {
		f.Keys[k].X, f.Keys[k].Y = g.point(key.X, key.Y)
	}
}

// cropMargin is the size of the crop for the other models, relative to the
// detector's box. The package from which the models come uses the same.
const cropMargin = 1.4

// crop returns the upright square around the face, the eyes level.
func (f *Face) crop() crop {
	right, left := f.Keys[0], f.Keys[1]
	return crop{
		x: f.X, y: f.Y,
		side:  cropMargin * max(f.Width, f.Height),
		angle: math.Atan2(left.Y-right.Y, left.X-right.X),
	}
}
