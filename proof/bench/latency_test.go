package bench

import (
	"image"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
)

// report prints quantiles of latencies in milliseconds.
func report(b *testing.B, took []time.Duration) {
	for name, q := range map[string]float64{"p50_ms": 0.50, "p95_ms": 0.95, "p99_ms": 0.99} {
		b.ReportMetric(quantile(took, q), name)
	}
	b.ReportMetric(0, "ns/op")
}

// quantile returns a quantile of latencies in milliseconds. It sorts the
// latencies.
func quantile(took []time.Duration, q float64) float64 {
	slices.Sort(took)
	return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000
}

// BenchmarkWebhook prints the time from the answer that completes a session to
// the webhook at the merchant's receiver.
func BenchmarkWebhook(b *testing.B) {
	for name, database := range map[string]func(testing.TB) string{"sqlite": dbtest.SQLiteOnDisk, "postgres": pgtest.URL} {
		b.Run(name, func(b *testing.B) {
			arrived := make(chan time.Time, 1)
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				arrived <- time.Now()
				w.WriteHeader(http.StatusNoContent)
			}))
			b.Cleanup(receiver.Close)
			g := gatewaytest.Start(b, database(b), "AGEGATE_TEST_DAILY_CAP=-1")
			shop := g.Shop(b, receiver.URL, nil)
			var took []time.Duration
			for b.Loop() {
				s := g.Create(b, shop.Test.APIKey, 18)
				g.Force(b, gatewaytest.Browser(), s, "verified")
				completed := time.Now()
				took = append(took, max(0, (<-arrived).Sub(completed)))
			}
			report(b, took)
		})
	}
}

// Number of shoppers in front of the camera at the same time, and how often each
// sends a frame.
const (
	shoppers   = 4
	frameEvery = 250 * time.Millisecond
)

// BenchmarkGuidance prints how long the server takes to answer a frame while
// several shoppers send four a second each. Every frame passes all stages of
// guidance, because the face is well placed but blurred.
func BenchmarkGuidance(b *testing.B) {
	g := gatewaytest.Start(b, dbtest.SQLiteOnDisk(b), "AGEGATE_ESTIMATOR=onnx", "AGEGATE_MODELS_DIR=../../models")
	if took := guided(b, g, g.Shop(b, "", nil), blurredFace(b)); len(took) > 0 {
		report(b, took)
	}
}

// guided lets shoppers of a shop send frames at the same time, and returns how
// long the answers took.
func guided(b *testing.B, g *gatewaytest.Gateway, shop tenant.Credentials, frame []byte) (all []time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range shoppers {
		s := g.Create(b, shop.Test.APIKey, 18)
		wg.Go(func() {
			took := stream(b, g, s, frame, max(20, b.N/shoppers))
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
		})
	}
	wg.Wait()
	return all
}

func blurredFace(b testing.TB) []byte {
	small := visiontest.Scene(visiontest.Face(b), [3]int{18, 18, 36})
	coarse, ok := small.SubImage(image.Rect(0, 0, 36, 36)).(*image.RGBA)
	if !ok {
		b.Fatal("the scene is not RGBA")
	}
	copied := image.NewRGBA(image.Rect(0, 0, 36, 36))
	for y := range 36 {
		copy(copied.Pix[y*copied.Stride:(y+1)*copied.Stride], coarse.Pix[y*coarse.Stride:])
	}
	return visiontest.JPEG(b, visiontest.Scene(copied, [3]int{320, 240, 320}))
}

// stream plays a shopper who sends the same frame n times, and returns how
// long each answer took.
func stream(b *testing.B, g *gatewaytest.Gateway, s gatewaytest.Created, jpeg []byte, n int) []time.Duration {
	f, err := openFilm(b.Context(), g, s, "start")
	if err != nil {
		b.Error(err)
		return nil
	}
	defer f.conn.CloseNow()
	var took []time.Duration
	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	for range n {
		<-tick.C
		start := time.Now()
		told, err := f.show(b.Context(), jpeg)
		if err != nil {
			b.Error(err)
			return took
		}
		took = append(took, time.Since(start))
		if told.Guidance != "blurred" {
			b.Errorf("guidance %q, want blurred", told.Guidance)
		}
	}
	return took
}
