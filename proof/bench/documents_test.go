package bench

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/dbtest"
	"agegate/proof/documents"
)

// withModels is the configuration of a gateway that analyses frames. With two
// workers, it reads one picture of a document at a time.
var withModels = []string{
	"AGEGATE_ESTIMATOR=onnx", "AGEGATE_MODELS_DIR=../../models", "AGEGATE_INFERENCE_WORKERS=2",
	"AGEGATE_TEST_DAILY_CAP=-1",
}

// photographers are shoppers of one tenant who photograph something other than a
// document. Each sends as fast as the server answers.
type photographers struct {
	answered atomic.Int64
	stop     func()
}

// pagesOfText returns pictures that take the reader longest and are never a
// document.
func pagesOfText(t testing.TB) (pictures [][]byte) {
	t.Helper()
	for i := range 6 {
		picture, err := documents.Other(4*i+1, 7)
		if err != nil {
			t.Fatal(err)
		}
		pictures = append(pictures, picture)
	}
	return pictures
}

// photograph starts a number of photographers, and returns once the first picture
// was answered.
func photograph(t testing.TB, g *gatewaytest.Gateway, n int, pictures [][]byte) *photographers {
	t.Helper()
	shop := g.Shop(t, "", func(s *tenant.Tenant) { s.DocumentCheck = true })
	ctx, cancel := context.WithCancel(context.Background())
	p := &photographers{}
	began := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for ctx.Err() == nil {
				f, err := openFilm(ctx, g, g.Create(t, shop.Test.APIKey, 18), "?force=fallback", "document?choice=photo",
					"photo?compare=yes")
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("a document cannot be filmed: %v", err)
					}
					return
				}
				for i := 0; ; i++ {
					a, err := f.show(ctx, pictures[i%len(pictures)])
					if err != nil || a.Next != "" {
						break // a repeated picture ends the check, so another session continues
					}
					p.answered.Add(1)
					once.Do(func() { close(began) })
				}
				_ = f.conn.CloseNow()
			}
		})
	}
	p.stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(p.stop)
	select {
	case <-began:
	case <-time.After(answerTime):
		t.Fatal("no picture of a document was answered")
	}
	return p
}

// TestDocumentsStarveNobody: while one tenant floods the gateway with pictures of
// documents, another tenant's camera check continues, and a third tenant's
// document is read. Times depend on the machine, so the test requires only that
// few documents are read for each frame of the check.
func TestDocumentsStarveNobody(t *testing.T) {
	g := gatewaytest.Start(t, dbtest.SQLiteOnDisk(t), withModels...)
	shop := g.Shop(t, "", nil)
	pictures := pagesOfText(t)
	flood := photograph(t, g, 8, pictures)
	f, err := openFilm(t.Context(), g, g.Create(t, shop.Test.APIKey, 18), "start")
	if err != nil {
		t.Fatal(err)
	}
	defer f.conn.CloseNow()
	face := blurredFace(t)
	const frames, most = 30, 5
	before := flood.answered.Load()
	for range frames {
		if a, err := f.show(t.Context(), face); err != nil || a.Guidance != "blurred" {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if read := flood.answered.Load() - before; read > frames*most {
		t.Errorf("%d pictures of documents were read during %d frames of another tenant", read, frames)
	}
	photograph(t, g, 1, pictures).stop() // a third tenant's picture is answered, too
}

// BenchmarkGuidanceBesideDocuments prints how long the server takes to answer the
// frames of BenchmarkGuidance, first alone and then, in the same gateway, during
// another tenant's documents, and the ratio. The two alternate, so that other
// load of the machine affects both.
func BenchmarkGuidanceBesideDocuments(b *testing.B) {
	g := gatewaytest.Start(b, dbtest.SQLiteOnDisk(b), withModels...)
	shop := g.Shop(b, "", nil)
	frame, pictures := blurredFace(b), pagesOfText(b)
	const rounds = 3
	var alone, beside []time.Duration
	var documents int64
	var flooded time.Duration
	for range rounds {
		alone = append(alone, guided(b, g, shop, frame)...)
		flood := photograph(b, g, shoppers, pictures)
		began, before := time.Now(), flood.answered.Load()
		beside = append(beside, guided(b, g, shop, frame)...)
		documents += flood.answered.Load() - before
		flooded += time.Since(began)
		flood.stop()
	}
	b.ReportMetric(float64(documents)/flooded.Seconds(), "documents/s")
	slices.Sort(alone)
	slices.Sort(beside)
	for name, q := range map[string]float64{"p50": 0.50, "p95": 0.95} {
		at := func(of []time.Duration) float64 { return float64(of[int(q*float64(len(of)-1))].Microseconds()) / 1000 }
		b.ReportMetric(at(alone), name+"_alone_ms")
		b.ReportMetric(at(beside), name+"_beside_ms")
		b.ReportMetric(at(beside)/at(alone), name+"_ratio")
	}
	b.ReportMetric(0, "ns/op")
}
