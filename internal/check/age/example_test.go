package age_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"

	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
)

// A capture takes the frames of one attempt, in order, and answers each with
// what the person should do, until a step carries a verdict.
func ExampleCapture() {
	pool, err := inference.Open(filepath.Join(visiontest.Root(), "models"), 1)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	face, err := visiontest.SampleJPEG()
	if err != nil {
		log.Fatal(err)
	}

	engine := age.NewEngine(vision.NewAnalyzer(pool), age.NewHead(pool.Manifest), nil)
	capture := engine.NewCapture(age.Options{TargetAge: 18, Margin: 7})
	for seq, jpeg := range [][]byte{[]byte("not a picture"), face} {
		frame := age.Frame{Nonce: capture.Nonce(), Seq: uint32(seq), JPEG: jpeg}
		step, err := capture.Add(context.Background(), frame)
		if err != nil {
			log.Fatal(err)
		}
		if step.Verdict != "" {
			fmt.Println(step.Verdict, step.Age)
			break
		}
		fmt.Println(step.Phase, step.Guidance)
	}
	// Output:
	// framing bad_image
	// framing ok
}
