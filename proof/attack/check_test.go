package attack

import (
	"bytes"
	"context"
	"io"
	"slices"
	"syscall"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
	"agegate/proof/attack/puppet"
)

// BenchmarkCheck prints the processor time of a whole check: a person follows
// the prompts, and the server decides from the frames. The time of the stock age
// network, which does not change, shows how fast the machine is meanwhile.
func BenchmarkCheck(b *testing.B) {
	models := visiontest.Pool(b)
	analyzer := vision.NewAnalyzer(models)
	person, stranger, err := puppet.Sample(b.Context(), analyzer)
	if err != nil {
		b.Fatal(err)
	}
	engine := age.NewEngine(analyzer, age.NewHead(models.Manifest), nil)
	var films []*film
	frames := 0
	for n := 0; len(films) < 8; n++ {
		take := newTake(&cast{person: person, stranger: stranger}, species{name: follower}.seed(n))
		if f := record(b, engine, take); f != nil {
			films, frames = append(films, f), frames+len(f.frames)
		}
	}
	const runs = 10
	var checks, bare []time.Duration
	for n := 0; b.Loop(); n++ {
		f := films[n%len(films)]
		checks = append(checks, processorTime(b, func() error { return f.replay(b.Context(), engine) }))
		bare = append(bare, processorTime(b, func() error { return stock(b.Context(), models, runs) })/runs)
	}
	check, run := median(checks), median(bare)
	b.ReportMetric(float64(check.Microseconds())/1000, "cpu-ms/check")
	b.ReportMetric(float64(run.Microseconds())/1000, "cpu-ms/stock-run")
	b.ReportMetric(float64(check)/float64(run), "stock-runs/check")
	b.ReportMetric(float64(frames)/float64(len(films)), "frames/check")
	b.ReportMetric(0, "ns/op")
}

// stock runs the stock age network.
func stock(ctx context.Context, models inference.Models, runs int) error {
	w, err := models.Acquire(ctx)
	if err != nil {
		return err
	}
	defer w.Release()
	for range runs {
		if err := w.Run(inference.Ager); err != nil {
			return err
		}
	}
	return nil
}

// film is everything that a capture received: its random bytes, and the frames.
type film struct {
	dice   bytes.Buffer
	frames []age.Frame
}

// record plays an honest check and keeps what the capture received. It returns
// nil if the check was not accepted.
func record(tb testing.TB, engine *age.Engine, k *take) *film {
	f, at := new(film), 0.0
	k.dice = io.TeeReader(chance{k.random}, &f.dice)
	see := k.see
	k.see = func(p liveness.Prompt, t float64) { at = t; see(p, t) }
	k.send = func(frame *age.Frame) {
		kept := *frame
		kept.Received = time.Unix(0, int64((at+k.latency)*float64(time.Second)))
		f.frames = append(f.frames, kept)
	}
	r, err := k.play(tb.Context(), engine)
	if err != nil {
		tb.Fatal(err)
	}
	if !r.accepted() {
		return nil
	}
	return f
}

// replay shows the film to a new capture, which must accept it.
func (f *film) replay(ctx context.Context, engine *age.Engine) error {
	now := time.Unix(0, 0)
	capture := engine.NewCapture(age.Options{
		TargetAge: 13, Now: func() time.Time { return now }, Rand: bytes.NewReader(f.dice.Bytes()),
	})
	for _, frame := range f.frames {
		now = frame.Received
		step, err := capture.Add(ctx, frame)
		if err != nil {
			return err
		}
		if step.Verdict == age.VerdictMet || step.Verdict == age.VerdictBelow {
			return nil
		}
	}
	return io.ErrUnexpectedEOF
}

// processorTime returns the time of all cores that the function takes.
func processorTime(tb testing.TB, f func() error) time.Duration {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			tb.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	if err := f(); err != nil {
		tb.Fatal(err)
	}
	return used() - before
}

func median(of []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(of))[len(of)/2]
}
