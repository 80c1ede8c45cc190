package shopper

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

const (
	shoppers  = 4
	frameRate = 4 // per second and shopper
)

// BenchmarkStream lets four shoppers send four frames a second each through the
// whole stack on SQLite, and reports how long a frame waits for its answer. One
// operation is one frame of each shopper.
func BenchmarkStream(b *testing.B) {
	engine := age.NewEngine(vision.NewAnalyzer(visiontest.Pool(b)), age.Tuned{}, nil)
	f := newFixture(b, tenant.Tenant{}, func(sess session.Session, assisted bool) Capture {
		return engine.NewCapture(age.Options{TargetAge: sess.TargetAge, Margin: 7, Assisted: assisted})
	})
	frames := movingFace(b)
	var (
		mu    sync.Mutex
		trips []time.Duration
		all   sync.WaitGroup
	)
	b.ResetTimer()
	for n := range shoppers {
		all.Go(func() {
			time.Sleep(time.Duration(n) * time.Second / frameRate / shoppers)
			own := f.shop(b, frames)
			mu.Lock()
			defer mu.Unlock()
			trips = append(trips, own...)
		})
	}
	all.Wait()
	slices.Sort(trips)
	at := func(share float64) float64 {
		return float64(trips[int(share*float64(len(trips)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), "ms-p50")
	b.ReportMetric(at(0.99), "ms-p99")
	b.ReportMetric(at(1), "ms-max")
}

// shop sends one frame after another, beginning a new session whenever a check
// ends, and returns how long each waited.
func (f *fixture) shop(b *testing.B, frames [][]byte) (trips []time.Duration) {
	var c *camera
	var nonce []byte
	seq := uint32(0)
	tick := time.NewTicker(time.Second / frameRate)
	defer tick.Stop()
	for n := range b.N {
		if c == nil {
			shopper := f.browser()
			link := f.session(true)
			shopper.post(link+"/start", nil)
			c, seq = shopper.camera(link), 0
			var first hello
			must(b, json.Unmarshal([]byte(c.read()), &first))
			nonce, _ = hex.DecodeString(first.Nonce)
		}
		<-tick.C
		message := append(binary.BigEndian.AppendUint32(slices.Clone(nonce), seq), frames[n%len(frames)]...)
		sent := time.Now()
		c.send(message)
		answer := c.read()
		trips = append(trips, time.Since(sent))
		if seq++; strings.Contains(answer, "next") {
			c = nil
		}
	}
	return trips
}

// movingFace returns pictures of the sample face, no two alike.
func movingFace(tb testing.TB) [][]byte {
	face := visiontest.Face(tb)
	frames := make([][]byte, 64)
	for i := range frames {
		frames[i] = visiontest.JPEG(tb, visiontest.Scene(face, [3]int{300 + i%9*5, 235 + i%5*2, 300 + i%7*2}))
	}
	return frames
}
