package security

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
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

// starveFactor is how much longer than on an idle gateway 95 of 100 honest frames
// may take while a hostile tenant floods the gateway. maxGoroutines is how many
// goroutines the process may run, including the attackers.
const (
	starveFactor  = 3
	maxGoroutines = 2000
)

// A tenant floods the models with the most expensive pictures allowed while a
// shopper of another tenant is in front of the camera.
func TestStarvedInference(t *testing.T) {
	models := modelsDir(t)
	for _, attack := range []struct {
		name            string
		sessions, hands int // number of sessions, and of senders per session
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
			r.Within(fmt.Sprintf("95 of 100 answered within (idle %s)", before.Round(time.Millisecond)), after,
				starveFactor*before)
			r.Timely("goroutines", fmt.Sprintf("< %d", maxGoroutines), fmt.Sprint(goroutines), goroutines < maxGoroutines)
		})
	}
}

// costly returns a picture with the maximum number of pixels, and noise, which
// takes long to decode.
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

// insist sends one picture after the other, each as soon as the last one was
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

// bandwidth is how many pictures of half a megabyte all attackers that take over
// streams send per second: about as much as a gigabit carries. More would starve
// any server, and here the attackers run on the same machine.
var bandwidth = rate.NewLimiter(160, 1)

// takeOver opens one stream after the other, sends a picture on each, and reads
// from none.
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
