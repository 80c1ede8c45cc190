package accuracy_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"agegate/internal/check/age"
	"agegate/internal/check/age/calibration"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
	"agegate/internal/lab/accuracy"
)

// person makes the features of somebody of an age, as an age model would give
// them that flatters the young: it reads 12 + 0.75 × age. The descriptor says
// the age as well, between much that it says about other things.
func person(years float64, random *rand.Rand) *vision.Features {
	f := new(vision.Features)
	for _, view := range []*vision.View{&f.Whole, &f.Inner} {
		centre := 12 + 0.75*years + random.NormFloat64()
		var sum float32
		for bin := range view.Distribution {
			d := (float64(bin) - centre) / 5
			view.Distribution[bin] = float32(math.Exp(-d * d / 2))
			sum += view.Distribution[bin]
		}
		for bin := range view.Distribution {
			view.Distribution[bin] /= sum
		}
		for i := range view.Descriptor {
			view.Descriptor[i] = float32(1 + 0.2*random.NormFloat64() + math.Sin(float64(i)+years/20))
		}
	}
	return f
}

func people(n int, seed uint64) []accuracy.Example {
	random := rand.New(rand.NewPCG(seed, 0))
	var out []accuracy.Example
	for i := range n {
		years := 8 + i%43
		views := []*vision.Features{person(float64(years), random), person(float64(years), random)}
		out = append(out, accuracy.Example{Age: years, Views: views})
	}
	return out
}

// fitted is a head fitted on made-up people, once for all tests.
var fitted = sync.OnceValues(func() (*calibration.Head, error) {
	return accuracy.Fit(people(430, 1), 1)
})

func head(t *testing.T) *calibration.Head {
	t.Helper()
	h, err := fitted()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func meanError(estimates []float64, people []accuracy.Example) float64 {
	var sum float64
	for i, p := range people {
		sum += math.Abs(estimates[i] - float64(p.Age))
	}
	return sum / float64(len(people))
}

func TestFitCorrectsAFlatteringModel(t *testing.T) {
	strangers := people(86, 2)
	var stock, calibrated []float64
	for _, p := range strangers {
		stock = append(stock, age.ExpectedValue{}.Age(p.Views[0]))
		calibrated = append(calibrated, head(t).Age(p.Views[0]))
	}
	if got := meanError(stock, strangers); got < 4 {
		t.Fatalf("the made-up model errs by %.2f years only: nothing to correct", got)
	}
	if got := meanError(calibrated, strangers); got > 2 {
		t.Errorf("errs by %.2f years after the fit", got)
	}
}

func TestCrossValidateEstimatesStrangers(t *testing.T) {
	all, folds := people(430, 3), make([]int, 430)
	for i := range folds {
		folds[i] = i % 2
	}
	estimates, err := accuracy.CrossValidate(t.Context(), all, folds, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	// Labels that say nothing about the features cannot be told by a fit that
	// has not seen them.
	if got := meanError(estimates, all); got > 2.5 {
		t.Errorf("errs by %.2f years", got)
	}
	random := rand.New(rand.NewPCG(4, 0))
	random.Shuffle(len(all), func(i, j int) { all[i].Age, all[j].Age = all[j].Age, all[i].Age })
	if estimates, err = accuracy.CrossValidate(t.Context(), all, folds, 2, 1); err != nil {
		t.Fatal(err)
	}
	if got := meanError(estimates, all); got < 8 {
		t.Errorf("errs by only %.2f years on shuffled labels: the fit saw what it was judged on", got)
	}
}

// TestFoldsKeepCopiesTogether: near copies, also copies of copies, come into
// one fold, and the folds are about equal.
func TestFoldsKeepCopiesTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 0))
	var features []*vision.Features
	for range 300 {
		f := new(vision.Features)
		for i := range f.Whole.Descriptor {
			f.Whole.Descriptor[i] = random.Float32()
		}
		first := f.Whole.Descriptor[0]
		f.Whole.Descriptor[0] = 20 * first // so that strangers are less alike than copies
		features = append(features, f)
	}
	const chain = 260 // pictures 260 to 299 are each a near copy of the one before
	for i := chain; i < 300; i++ {
		copied := *features[i-1]
		for j := range copied.Whole.Descriptor {
			copied.Whole.Descriptor[j] += 0.2 * random.Float32()
		}
		features[i] = &copied
	}
	folds := accuracy.Folds(features, 5, 1)
	count := make([]int, 5)
	for i, fold := range folds {
		if i < chain {
			count[fold]++
		} else if fold != folds[chain-1] {
			t.Errorf("copy %d is in fold %d, its original in %d", i, fold, folds[chain-1])
		}
	}
	if slices.Min(count) < 50 || slices.Max(count) > 54 {
		t.Errorf("folds of %v", count)
	}
	if !slices.Equal(accuracy.Folds(features, 5, 1), folds) {
		t.Error("the same seed gave other folds")
	}
}

func TestFitIsRepeatable(t *testing.T) {
	again, err := accuracy.Fit(people(430, 1), 1)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again, head(t)) {
		t.Error("the same examples and seed gave another head")
	}
}

func TestFitRefusesTooLittle(t *testing.T) {
	same := people(430, 1)
	for i := range same {
		same[i].Age = 30
	}
	for name, examples := range map[string][]accuracy.Example{
		"nothing": nil, "too few": people(accuracy.FewestExamples-1, 1), "one age": same,
	} {
		if _, err := accuracy.Fit(examples, 1); !errors.Is(err, accuracy.ErrTooFew) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOldFacesFollowTheStockEstimate: no label is above 50, so above it the
// stock estimate decides, from faces just below it on without a step.
func TestOldFacesFollowTheStockEstimate(t *testing.T) {
	h := head(t)
	reading := func(stock int) *vision.Features { // with a descriptor like a 40-year-old's
		f := person(40, rand.New(rand.NewPCG(5, 0)))
		for _, view := range []*vision.View{&f.Whole, &f.Inner} {
			view.Distribution = [inference.AgeBins]float32{}
			view.Distribution[stock] = 1
		}
		return f
	}
	for _, stock := range []int{55, 60, 75, 99} {
		if got := h.Age(reading(stock)); math.Abs(got-float64(stock)) > 1e-6 {
			t.Errorf("stock %d: estimate %.2f", stock, got)
		}
	}
	one := reading(80)
	one.Inner.Distribution = [inference.AgeBins]float32{30: 1}
	if got := h.Age(one); got > 50 {
		t.Errorf("one crop alone lifts the estimate to %.1f", got)
	}
	if got := h.Age(new(vision.Features)); !(got >= 0 && got <= 50) {
		t.Errorf("features without meaning give %v", got)
	}
}

// TestShippedCalibration: the file in models/ belongs to the models that this
// version installs, and keeps what it is shipped for.
func TestShippedCalibration(t *testing.T) {
	pool := visiontest.Pool(t)
	dir := filepath.Join(visiontest.Root(), "models")
	_, info, err := calibration.LoadHead(dir, pool.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	var m accuracy.Report
	if err := json.Unmarshal(info.Metrics, &m); err != nil {
		t.Fatal(err)
	}
	for _, b := range m.Bands {
		if b.From == 13 && b.MAE >= 3.5 {
			t.Errorf("MAE of 13 to 17 is %.2f years", b.MAE)
		}
	}
	if m.Margins[2] != 7 || m.FalsePass[0].Shares[2].Rate > 0.04 || m.Pass[1].Shares[2].Rate < 0.65 {
		t.Errorf("at 25: %.3f of minors and %.3f of 25 to 35 pass", m.FalsePass[0].Shares[2].Rate, m.Pass[1].Shares[2].Rate)
	}
	if file, err := os.Stat(filepath.Join(dir, calibration.FileName)); err != nil || file.Size() > 1_500_000 {
		t.Errorf("the file weighs too much: %v, %v", file, err)
	}
}
