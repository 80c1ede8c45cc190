package accuracy

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"agegate/internal/check/age"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
)

// sample returns the sample face as a shot with its landmarks.
func sample(t *testing.T) *shot {
	t.Helper()
	path := filepath.Join(t.TempDir(), "28.jpg")
	if err := os.WriteFile(path, visiontest.FaceJPEG(t), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Options{}.open(t.Context(), nil, Picture{Path: path, Pad: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	_, seen, err := look(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)), s.img)
	if err != nil {
		t.Fatal(err)
	}
	s.points = seen.Landmarks
	return s
}

// TestAlterations: each alteration changes the picture, in the same way for the
// same seed, and leaves a face that the page would count.
func TestAlterations(t *testing.T) {
	plain, analyzer := sample(t), vision.NewAnalyzer(visiontest.Pool(t))
	for _, a := range Alterations {
		var pixels [2][]uint8
		for i := range pixels {
			s := plain.copy()
			a.apply(s, rand.New(rand.NewPCG(7, 7)))
			pixels[i] = s.img.Pix
			if i > 0 {
				continue
			}
			l, _, err := look(t.Context(), analyzer, s.img)
			if err != nil || l.Guidance != vision.GuidanceOK {
				t.Errorf("%s: %s, %v", a.Name, l.Guidance, err)
			}
		}
		if bytes.Equal(pixels[0], plain.img.Pix) {
			t.Errorf("%s changes nothing", a.Name)
		}
		if !bytes.Equal(pixels[0], pixels[1]) {
			t.Errorf("%s differs under the same seed", a.Name)
		}
	}
}

// TestDrawingsKeepToTheirPlace: a beard covers the chin but neither lips nor
// eyes, glasses surround the eyes, make-up colours the lips but not the eyes,
// wrinkles run past the mouth, and a fringe ends above the eyes.
func TestDrawingsKeepToTheirPlace(t *testing.T) {
	const lip, chinTip, eye, brow, fold, forehead = 17, 200, 159, 9, 206, 151
	plain := sample(t)
	rows := []struct {
		name    string
		draw    func(s *shot, random *rand.Rand)
		changes int
		keeps   [][]int // each the middle of landmarks
	}{
		{"beard", (*shot).beard, chinTip, [][]int{{13}, {eye}, {brow}}},
		{"make-up", (*shot).makeUp, lip, [][]int{rightEye, leftEye}},
		{"wrinkles", (*shot).wrinkles, fold, [][]int{{13}, {chinTip}, rightEye}},
		{"fringe", (*shot).fringe, forehead, [][]int{{lip}, {chinTip}, rightEye, leftEye}},
	}
	for _, row := range rows {
		s := plain.copy()
		row.draw(s, rand.New(rand.NewPCG(7, 7)))
		differs := func(landmarks ...int) bool {
			x, y := plain.centre(landmarks)
			return s.img.RGBAAt(int(x), int(y)) != plain.img.RGBAAt(int(x), int(y))
		}
		if !differs(row.changes) {
			t.Errorf("%s: landmark %d is as it was", row.name, row.changes)
		}
		for _, k := range row.keeps {
			if differs(k...) {
				t.Errorf("%s: the middle of landmarks %d is changed", row.name, k)
			}
		}
	}
	s := plain.copy()
	s.glasses(rand.New(rand.NewPCG(7, 7)))
	x, y := plain.centre(rightEye)
	ring := 0
	for dx := range 40 { // from the pupil outwards, the line crosses the frame
		if c := s.img.RGBAAt(int(x)-dx, int(y)); c.R < 90 && plain.img.RGBAAt(int(x)-dx, int(y)).R > 120 {
			ring++
		}
	}
	if ring == 0 {
		t.Error("glasses: no frame beside the eye")
	}
}

// always is a head that gives everybody the same age.
type always float64

func (a always) Estimate(*vision.Features) age.Estimate { return age.Estimate{Years: float64(a)} }

// seventeen returns a set of one picture: the sample face with the age 17.
func seventeen(t *testing.T) []Picture {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "17_face.jpg"), visiontest.FaceJPEG(t), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := ReadSets([]string{dir}, []float64{0.2})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestEvaluateAlteredRounds: a face estimated at 24.96 passes at 25, as on
// the page and in the other tables.
func TestEvaluateAlteredRounds(t *testing.T) {
	all, err := EvaluateAltered(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)), always(24.96), seventeen(t),
		Options{Workers: 2}, 18)
	if err != nil || all[0].FalsePass.Shares[defaultMargin].Count != 1 {
		t.Errorf("%+v, %v", all[0].FalsePass, err)
	}
}

// TestEvaluateAltered reports on the set unaltered and with every alteration.
func TestEvaluateAltered(t *testing.T) {
	all, err := EvaluateAltered(t.Context(), vision.NewAnalyzer(visiontest.Pool(t)), age.Tuned{}, seventeen(t),
		Options{Workers: 2}, 18)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1+len(Alterations) || all[0].Name != Unaltered || all[0].Young == nil ||
		all[0].Clear.Shares[0].Of != 0 {
		t.Fatalf("%+v", all)
	}
	different := 0
	for _, a := range all[1:] {
		if a.Measured == 1 && a.MAE != all[0].MAE {
			different++
		}
	}
	if different < 10 {
		t.Errorf("only %d of %d alterations make a difference", different, len(Alterations))
	}
}
