// Package puppet draws moving faces: a picture of a face, bent over its own
// landmark mesh, turns, tilts and comes closer like a head, or like a flat print
// of one. It makes the honest and dishonest clips of the attack range and the
// pictures for the fake cameras of the browser tests.
package puppet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"math"
	"slices"
	"sync"

	"agegate/internal/check/vision"

	xdraw "golang.org/x/image/draw"
)

// gridSide is the number of vertices along each side of the bent picture.
const gridSide = 65

// Head is a picture of a face with depth. Many goroutines may draw it.
type Head struct {
	texture   *image.RGBA
	backdrop  *image.RGBA     // the same picture out of focus, used as the background
	backdrops sync.Map        // those already scaled, by size
	centre    vision.Point    // the middle of the face
	width     float64         // of the face, in pixels of the texture
	eyes      [2]vision.Point // the middle of each; Z is half the width
	vertices  []vertex        // gridSide × gridSide, row by row
}

// vertex is a point of the picture: its place in pixels, its depth in face
// widths, and how much it follows the head.
type vertex struct{ x, y, z, follow float64 }

// NewHead finds the one face in the picture and gives the picture its depth.
func NewHead(ctx context.Context, analyzer vision.Analyzer, jpeg []byte, picture image.Image) (*Head, error) {
	o, err := analyzer.Analyze(ctx, jpeg)
	if err != nil {
		return nil, err
	}
	if o.Landmarks == nil {
		return nil, fmt.Errorf("no face to move: %s", o.Guidance)
	}
	b := picture.Bounds()
	if b.Dx() != o.Width || b.Dy() != o.Height {
		return nil, errors.New("the picture is not that of the JPEG")
	}
	h := &Head{texture: image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy())), width: o.Face.Width}
	draw.Draw(h.texture, h.texture.Bounds(), picture, b.Min, draw.Src)
	h.backdrop = defocus(h.texture)
	h.centre = vision.Point{X: o.Face.X, Y: o.Face.Y}
	for i, corners := range [2][2]int{{33, 133}, {263, 362}} { // corners of the eyes in MediaPipe's mesh
		a, b := o.Landmarks[corners[0]], o.Landmarks[corners[1]]
		h.eyes[i] = vision.Point{X: (a.X + b.X) / 2, Y: (a.Y + b.Y) / 2, Z: math.Hypot(a.X-b.X, a.Y-b.Y) / 2}
	}
	h.shape(o.Landmarks)
	return h, nil
}

// Proportions of a head, in widths of its face.
const (
	turningDepth = 0.35 // of the axis behind the middle of the face
	rimDepth     = 0.3  // of hair and ears behind the middle of the face
	solidRim     = 0.12 // points nearer to a landmark than this move with the head
	softRim      = 0.75 // points further away than this do not move
)

// shape gives every vertex the depth of the landmarks near it. Points follow the
// face less the further they are from it, so that the picture has no tears.
func (h *Head) shape(mesh []vision.Point) {
	size := h.texture.Bounds().Size()
	for row := range gridSide {
		for column := range gridSide {
			v := vertex{
				x: float64(column) * float64(size.X) / (gridSide - 1),
				y: float64(row) * float64(size.Y) / (gridSide - 1),
			}
			depth, distance := depthAt(mesh, v.x, v.y)
			rim := smooth((distance/h.width - solidRim/2) / solidRim)
			v.z = depth/h.width*(1-rim) + rim*rimDepth
			v.follow = 1 - smooth((distance/h.width-solidRim)/(softRim-solidRim))
			h.vertices = append(h.vertices, v)
		}
	}
}

// depthAt returns the mean depth of the six nearest landmarks, with more weight
// for nearer ones, and the distance of the nearest.
func depthAt(mesh []vision.Point, x, y float64) (depth, distance float64) {
	type near struct{ square, z float64 }
	nearest := make([]near, 0, 7)
	for _, p := range mesh {
		n := near{(p.X-x)*(p.X-x) + (p.Y-y)*(p.Y-y), p.Z}
		if len(nearest) == 6 && n.square >= nearest[5].square {
			continue
		}
		at, _ := slices.BinarySearchFunc(nearest, n, func(a, b near) int { return cmp.Compare(a.square, b.square) })
		nearest = slices.Insert(nearest, at, n)
		nearest = nearest[:min(len(nearest), 6)]
	}
	var weights float64
	for _, n := range nearest {
		w := 1 / (n.square + 1)
		depth += w * n.z
		weights += w
	}
	return depth / weights, math.Sqrt(nearest[0].square)
}

// smooth rises smoothly from 0 at 0 to 1 at 1.
func smooth(t float64) float64 {
	t = min(max(t, 0), 1)
	return t * t * (3 - 2*t)
}

// defocus returns a blurred copy of the picture.
func defocus(img image.Image) *image.RGBA {
	small := image.NewRGBA(image.Rect(0, 0, 12, 9))
	xdraw.CatmullRom.Scale(small, small.Bounds(), img, img.Bounds(), xdraw.Src, nil)
	large := image.NewRGBA(image.Rect(0, 0, 64, 48))
	xdraw.CatmullRom.Scale(large, large.Bounds(), small, small.Bounds(), xdraw.Src, nil)
	return large
}
