package vision

import "math"

// Landmarks on skin that is seldom covered, and around the mouth, in
// MediaPipe's mesh.
var (
	browAndBridge  = []int{151, 9, 8, 6}
	browsAndCheeks = []int{151, 9, 50, 280}
	lips           = []int{0, 17, 37, 267, 84, 314, 61, 291}
)

// minSkinWarmth is the difference between red and blue chroma below which the
// colours of a picture say nothing about skin, as in a grey picture.
const minSkinWarmth = 8.0

// warmth returns how much redder than neutral the lips are, divided by the same value
// of the skin between the eyes. Lips are at least as red as the skin, whatever its
// tone; cloth over them seldom is. warmth is 1 if the skin itself shows no colour.
func (p *picture) warmth(mesh []Point, faceWidth float64) float64 {
	patch := faceWidth / 20
	skin := p.redness(mesh, browAndBridge, patch)
	if skin < minSkinWarmth {
		return 1
	}
	return p.redness(mesh, lips, patch) / skin
}

// redness returns the mean, around the landmarks, of red chroma minus blue chroma.
func (p *picture) redness(mesh []Point, indices []int, patch float64) float64 {
	return p.around(mesh, indices, patch, func(x, y int) float64 {
		blue, red := p.chroma(x, y)
		return red - blue
	})
}

// chroma returns the chroma of a pixel relative to neutral, which all are in a grey
// picture.
func (p *picture) chroma(x, y int) (blue, red float64) {
	if p.blue == nil {
		return 0, 0
	}
	at := (y>>p.shiftY)*p.chromaStride + x>>p.shiftX
	return float64(p.blue[at]) - 128, float64(p.red[at]) - 128
}

// colour returns the strength of the skin's chroma: the mean distance from neutral,
// added up over both chroma planes. It is 0 in a grey picture, and 15 and more for skin
// in any light that a camera balances.
func (p *picture) colour(mesh []Point, faceWidth float64) float64 {
	return p.around(mesh, browsAndCheeks, faceWidth/20, func(x, y int) float64 {
		blue, red := p.chroma(x, y)
		return math.Abs(blue) + math.Abs(red)
	})
}

// eyeLight returns the luma of the eyes divided by that of forehead and cheeks. It is
// about 0.6 in any light and on any skin, and lower behind sunglasses.
func (p *picture) eyeLight(mesh []Point, eyes *Eyes, faceWidth float64) float64 {
	right, _ := moments(eyes[0][:])
	left, _ := moments(eyes[1][:])
	skin := p.around(mesh, browsAndCheeks, faceWidth/20, func(x, y int) float64 {
		return float64(p.luma[y*p.lumaStride+x])
	})
	return (right + left) / 2 / max(skin, 1)
}

// around returns the mean of a value around each landmark, on a 5×5 lattice that is
// patch pixels wide. It is 0 if all points are outside the picture.
func (p *picture) around(mesh []Point, indices []int, patch float64, value func(x, y int) float64) float64 {
	var sum, count float64
	for _, i := range indices {
		for step := range 25 {
			x := int(mesh[i].X + float64(step%5-2)*patch/4)
			y := int(mesh[i].Y + float64(step/5-2)*patch/4)
			if x >= 0 && y >= 0 && x < p.width && y < p.height {
				sum += value(x, y)
				count++
			}
		}
	}
	return sum / max(count, 1)
}
