package main

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"

	xdraw "golang.org/x/image/draw"
)

// What a portrait loses on a document, mildly: it is printed and filmed with wornSide
// pixels, softly, with less contrast, and compressed again.
const (
	wornSide     = 90 // longer side of a tight picture of a face
	wornContrast = 0.65
	wornPaper    = 200 // towards which the colours fade
	wornQuality  = 75
	frameSide    = 200
)

// wear returns the picture as a poor portrait shows it: small, soft and pale.
func wear(img image.Image) image.Image {
	small := scale(xdraw.CatmullRom, img, wornSide)
	soft := scale(xdraw.BiLinear, scale(xdraw.BiLinear, small, wornSide*2/3), wornSide)
	for i := range soft.Pix {
		if i%4 != 3 {
			soft.Pix[i] = uint8(wornContrast*float64(soft.Pix[i]) + (1-wornContrast)*wornPaper)
		}
	}
	var data bytes.Buffer
	if err := jpeg.Encode(&data, soft, &jpeg.Options{Quality: wornQuality}); err != nil {
		panic("facematch: " + err.Error()) // a buffer takes everything
	}
	again, err := jpeg.Decode(&data)
	if err != nil {
		panic("facematch: " + err.Error())
	}
	return scale(xdraw.BiLinear, again, frameSide)
}

// scale returns the picture with the given longer side, on white.
func scale(by xdraw.Scaler, img image.Image, side int) *image.RGBA {
	size := img.Bounds().Size()
	longer := max(size.X, size.Y)
	out := image.NewRGBA(image.Rect(0, 0, max(1, side*size.X/longer), max(1, side*size.Y/longer)))
	draw.Draw(out, out.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	by.Scale(out, out.Rect, img, img.Bounds(), draw.Over, nil)
	return out
}
