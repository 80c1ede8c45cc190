package accuracy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"agegate/internal/check/vision"
	"agegate/internal/lab/accuracy"
)

// strangers returns looks at people who do not resemble each other.
func strangers(n int) []accuracy.Look {
	random := rand.New(rand.NewPCG(5, 0))
	var looks []accuracy.Look
	for i := range n {
		f := new(vision.Features)
		for j := range f.Whole.Descriptor {
			f.Whole.Descriptor[j] = float32(random.NormFloat64())
		}
		looks = append(looks, accuracy.Look{Picture: accuracy.Picture{Path: fmt.Sprintf("/set/30_%03d.jpg", i)}, Features: f})
	}
	return looks
}

// TestHoldOutShare: about 15 % are held out. The choice does not depend on the
// order of the pictures or on which other pictures are in the set.
func TestHoldOutShare(t *testing.T) {
	looks := strangers(600)
	held, count := accuracy.HoldOut(looks), 0
	for _, h := range held {
		if h {
			count++
		}
	}
	if count < 60 || count > 120 {
		t.Errorf("%d of 600 are held out", count)
	}
	for i, h := range accuracy.HoldOut(looks[300:]) {
		if h != held[300+i] {
			t.Errorf("%s is held out in one company only", looks[300+i].Path)
		}
	}
}

// TestHoldOutKeepsCopiesTogether: near copies, also copies of copies, are held out
// together.
func TestHoldOutKeepsCopiesTogether(t *testing.T) {
	looks := strangers(60)
	random := rand.New(rand.NewPCG(6, 0))
	const chain = 40 // each picture is a near copy of the one before
	for i := chain; i < len(looks); i++ {
		copied := *looks[i-1].Features
		for j := range copied.Whole.Descriptor {
			copied.Whole.Descriptor[j] += 0.3 * float32(random.NormFloat64())
		}
		looks[i].Features = &copied
	}
	held := accuracy.HoldOut(looks)
	for i := chain; i < len(looks); i++ {
		if held[i] != held[chain-1] {
			t.Errorf("copy %d is held out: %t, its original: %t", i, held[i], held[chain-1])
		}
	}
}
