package vision_test

import (
	"errors"
	"testing"

	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
)

// BenchmarkStage measures the steps of one 640×480 frame, each on one core.
// The age stage covers all age models, the second stage the second of them.
func BenchmarkStage(b *testing.B) {
	worker, err := visiontest.Pool(b).Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer worker.Release()
	stages := vision.Stages(b, worker, goodFrame(b))
	for _, name := range []string{"decode", "sample224", "detect", "surface", "raster", "mesh", "antispoof", "liveness",
		"age", "second"} {
		b.Run(name, func(b *testing.B) { perFrame(b, stages[name]) })
	}
}

// BenchmarkFrame measures whole frames on one core: a frame of 640×480 in which
// the face is detected, a small guiding one in which it is followed, and one of
// 640×480 that counts.
func BenchmarkFrame(b *testing.B) {
	analyzer, frame := vision.NewAnalyzer(visiontest.Pool(b)), goodFrame(b)
	small := visiontest.JPEG(b, resize(visiontest.Scene(visiontest.Face(b), [3]int{320, 240, 400}), 384, 288))
	last, err := analyzer.Analyze(b.Context(), frame)
	if err != nil {
		b.Fatal(err)
	}
	look := func(jpeg []byte) (o *vision.Observation, err error) {
		if o, err = analyzer.Follow(b.Context(), jpeg, last); err == nil && o.Landmarks == nil {
			err = errors.New("the face was lost")
		}
		return o, err
	}
	guide := func() error { _, err := look(small); return err }
	decide := func() error {
		o, err := look(frame)
		if err != nil {
			return err
		}
		if err := analyzer.Score(b.Context(), o); err != nil {
			return err
		}
		_, err = analyzer.Features(b.Context(), o)
		return err
	}
	b.Run("find", func(b *testing.B) {
		perFrame(b, func() error { _, err := analyzer.Analyze(b.Context(), frame); return err })
	})
	b.Run("guide", func(b *testing.B) { perFrame(b, guide) })
	b.Run("decide", func(b *testing.B) { perFrame(b, decide) })
}

// perFrame reports milliseconds.
func perFrame(b *testing.B, f func() error) {
	b.ReportAllocs()
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/frame")
}

func goodFrame(tb testing.TB) []byte {
	return visiontest.JPEG(tb, visiontest.Scene(visiontest.Face(tb), [3]int{320, 240, 400}))
}
