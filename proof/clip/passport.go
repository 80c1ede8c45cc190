package main

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"agegate/internal/check/document/capture"
	"agegate/internal/check/document/date"
	"agegate/internal/check/document/mrz"
	"agegate/internal/check/document/mrz/mrztest"
	"agegate/internal/check/document/photo"
	"agegate/internal/check/vision/visiontest"
	"agegate/proof/attack/puppet"
	"agegate/proof/documents"
)

// tilts are the poses for the prompts of a document check, in degrees.
var tilts = map[capture.Hint]documents.Pose{
	capture.RaiseLeft: {Left: 17}, capture.RaiseRight: {Left: -17}, capture.RaiseTop: {Top: 17},
	capture.RaiseBottom: {Top: -17},
}

// passport writes pictures of a held passport with the portrait of the sample
// face: "document" is the passport at rest, and the pictures of each prompt go
// from there to the full tilt.
func passport(dir, birth, expiry string, stranger bool, frames int, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 9303)) //nolint:gosec // every run must be the same
	person := mrztest.Random(random, time.Now())
	for text, field := range map[string]*date.Date{birth: &person.Birth, expiry: &person.Expiry} {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return err
		}
		*field = date.Of(day)
	}
	data, err := visiontest.SampleJPEG()
	if err != nil {
		return err
	}
	face, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if stranger {
		// With one disguise the face still resembles itself like a sister's
		// would.
		face = puppet.Disguise(puppet.Disguise(puppet.Disguise(face)))
	}
	renderer, err := documents.NewRenderer()
	if err != nil {
		return err
	}
	held := renderer.Hold(documents.Content{Format: mrz.TD3, Lines: mrztest.Zone(mrz.TD3, person), Portrait: face},
		documents.Easy, random)
	camera := puppet.NewCamera(random)
	size := image.Pt(960, 720)
	home := documents.Pose{Roll: 3, Left: 2, Top: -1, Pitch: 0.85 * float64(size.X) / 125 * 2.54}
	shoot := func(name string, i int, tilt documents.Pose, part float64) error {
		pose := home
		pose.Left, pose.Top = home.Left+part*tilt.Left, home.Top+part*tilt.Top
		shake := func() float64 { return random.NormFloat64() }
		pose.X, pose.Y, pose.Roll = 2*shake(), 2*shake(), pose.Roll+shake()/3
		shot, err := camera.Shoot(held.Draw(pose, size))
		if err != nil {
			return err
		}
		folder := filepath.Join(dir, name)
		if err := os.MkdirAll(folder, 0o750); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, fmt.Sprintf("%02d.jpg", i)), shot, 0o600)
	}
	for i := range frames {
		if err := shoot("document", i, documents.Pose{}, 0); err != nil {
			return err
		}
		for hint, tilt := range tilts {
			if err := shoot(photo.Prefix+string(hint), i, tilt, float64(i+1)/float64(frames)); err != nil {
				return err
			}
		}
	}
	return nil
}
