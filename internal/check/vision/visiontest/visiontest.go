// Package visiontest provides the models and a sample face for tests.
package visiontest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	xdraw "golang.org/x/image/draw"

	"agegate/internal/check/inference"
	"agegate/internal/rules/checkouttest"
)

// Root returns the top directory of the checkout.
func Root() string { return checkouttest.Root() }

var pool = sync.OnceValues(func() (*inference.Pool, error) {
	return inference.Open(filepath.Join(Root(), "models"), 2)
})

// Pool returns the pool of models that all tests of the process share: two
// workers, never closed. A missing model fails the test.
func Pool(tb testing.TB) *inference.Pool {
	tb.Helper()
	p, err := pool()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// FaceJPEG returns the sample face, see SampleJPEG.
func FaceJPEG(tb testing.TB) []byte {
	tb.Helper()
	data, err := SampleJPEG()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// SampleJPEG returns the sample face of @vladmandic/human, 256×256: a generated
// picture that shows no real person. It stays in node_modules; it is not part
// of this project.
func SampleJPEG() ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(Root(), "node_modules", "@vladmandic", "human", "src", "sample.ts"))
	if err != nil {
		return nil, fmt.Errorf("run `npm ci --ignore-scripts`: %w", err)
	}
	_, text, _ := strings.Cut(string(source), "export const face: string = `")
	text, _, found := strings.Cut(text, "`")
	if !found {
		return nil, errors.New("sample.ts no longer holds the face")
	}
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
}

// Face returns the sample face as an image.
func Face(tb testing.TB) image.Image {
	tb.Helper()
	img, err := jpeg.Decode(bytes.NewReader(FaceJPEG(tb)))
	if err != nil {
		tb.Fatal(err)
	}
	return img
}

// Scene returns a 640×480 grey picture with the image drawn into each square:
// centre x, centre y and side in pixels.
func Scene(img image.Image, squares ...[3]int) *image.RGBA {
	scene := image.NewRGBA(image.Rect(0, 0, 640, 480))
	draw.Draw(scene, scene.Bounds(), image.NewUniform(color.Gray{128}), image.Point{}, draw.Src)
	for _, s := range squares {
		at := image.Rect(s[0]-s[2]/2, s[1]-s[2]/2, s[0]+s[2]/2, s[1]+s[2]/2)
		xdraw.CatmullRom.Scale(scene, at, img, img.Bounds(), xdraw.Src, nil)
	}
	return scene
}

// JPEG encodes an image like a camera page.
func JPEG(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, &jpeg.Options{Quality: 85}); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}
