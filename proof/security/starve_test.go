package security

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
	"agegate/proof/table"

	xdraw "golang.org/x/image/draw"
	"golang.org/x/time/rate"
)

// starveFactor is how much longer than on an idle gateway 95 of 100 honest
// frames may take while a hostile tenant floods, and maxGoroutines what the process,
// the attackers in it, may run.
const (
	starveFactor  = 3
	maxGoroutines = 2000
)

// A tenant floods the models with the costliest pictures allowed, while a
// shopper of another tenant is before the camera.
func TestStarvedInference(t *testing.T) {
	models, err := filepath.Abs("../../models")
	if err != nil {
		t.Fatal(err)
	}
	for _, attack := range []struct {
		name            string
		sessions, hands int // hands work at each session
		flood           func(context.Context, owned, []byte)
	}{
		{"Inference flooded by many sessions", table.Sized(190, 12), 1, insist},
		{"Inference flooded by one session's take-overs", 1, 8, takeOver},
		{"Inference flooded by many sessions' take-overs", table.Sized(24, 4), 2, takeOver},
	} {
		t.Run(attack.name, func(t *testing.T) {
			r := table.New(t, attack.name)
			g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_ESTIMATOR=onnx", "AGEGATE_MODELS_DIR="+models,
				"AGEGATE_FREE_CHECKS_PER_MONTH=-1")
			honest, crowd := g.Shop(t, "", nil).Live.APIKey, g.Shop(t, "", nil).Live.APIKey
			links := make([]owned, attack.sessions)
			for i := range links {
				links[i] = begin(t, g, crowd)
			}
			frames := table.Sized(60, 8)
			idle := newVisitor(t, g, honest)
			idle.look(frames, nil)

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			heavy := costly(t, idle.jpeg)
			var hands sync.WaitGroup
			for _, link := range links {
				for range attack.hands {
					hands.Go(func() { attack.flood(ctx, link, heavy) })
				}
			}
			beside := newVisitor(t, g, honest)
			beside.look(frames, nil)
			goroutines := runtime.NumGoroutine()
			cancel()
			hands.Wait()

			r.Didf("%d sessions, %d streams each, beside %d honest frames", attack.sessions, attack.hands, frames)
			r.None("honest frames not answered", append(idle.refused, beside.refused...))
			before, after := quantile(idle.took, 0.95), quantile(beside.took, 0.95)
			r.Within(fmt.Sprintf("95 of 100 answered within (idle %s)", before.Round(time.Millisecond)), after, starveFactor*before)
			r.Timely("goroutines", fmt.Sprintf("< %d", maxGoroutines), fmt.Sprint(goroutines), goroutines < maxGoroutines)
		})
	}
}

// costly returns a picture with the most pixels allowed, and noise, which takes
// long to decode.
func costly(t testing.TB, data []byte) []byte {
	t.Helper()
	small, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	big := image.NewRGBA(image.Rect(0, 0, 1250, 800))
	xdraw.ApproxBiLinear.Scale(big, big.Rect, small, small.Bounds(), xdraw.Src, nil)
	rng := rand.New(rand.NewPCG(3, 3))
	for i, v := range big.Pix {
		big.Pix[i] = uint8(min(max(int(v)+rng.IntN(120)-60, 0), 255))
	}
	return visiontest.JPEG(t, big)
}

// insist sends one picture after the other, each as soon as the last one is
// answered.
func insist(ctx context.Context, o owned, jpeg []byte) {
	for ctx.Err() == nil {
		s, err := o.dial(ctx)
		for err == nil {
			if err = s.send(ctx, jpeg); err == nil {
				_, _, err = s.conn.Read(ctx)
			}
		}
		if s != nil {
			_ = s.conn.CloseNow()
		}
	}
}

// bandwidth is how many pictures of half a megabyte all who take over send each
// second, about what a gigabit carries. More would starve a machine of any
// server, and here the attackers run on it, too.
var bandwidth = rate.NewLimiter(160, 1)

// takeOver opens one stream after the other, sends a picture on each and
// listens to none.
func takeOver(ctx context.Context, o owned, jpeg []byte) {
	for bandwidth.Wait(ctx) == nil {
		s, err := o.dial(ctx)
		if err != nil {
			continue
		}
		_ = s.send(ctx, jpeg)
		time.AfterFunc(2*time.Second, func() { _ = s.conn.CloseNow() })
	}
}
