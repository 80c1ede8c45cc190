package routine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"agegate/internal/rules/fault"
	"agegate/internal/rules/routine"
)

// TestGoRecovers: a panic is logged with the name and the stack, and without its
// value, which may contain input. It is counted.
func TestGoRecovers(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	counted := fault.Panics()

	done := make(chan struct{})
	routine.Go("a test", func() {
		defer close(done)
		panic("a secret")
	})
	<-done
	var group routine.Group // waits until the first panic has been logged
	calls := 0
	group.Keep(t.Context(), "another test", func(context.Context) {
		if calls++; calls == 1 {
			panic("a secret")
		}
	})
	if err := group.Wait(); err != nil || calls != 2 {
		t.Errorf("%d calls, %v: it is called again after a panic", calls, err)
	}
	text := log.String()
	if !strings.Contains(text, `in="a test"`) || !strings.Contains(text, `in="another test"`) ||
		!strings.Contains(text, "TestGoRecovers") || strings.Contains(text, "secret") {
		t.Errorf("the log: %s", text)
	}
	if n := fault.Panics() - counted; n != 2 {
		t.Errorf("%d panics counted, want 2", n)
	}
}

func TestGroup(t *testing.T) {
	var done atomic.Int32
	var group routine.Group
	group.Start(func() error { panic("a fault") })
	for range 3 {
		group.Start(func() error { done.Add(1); return nil })
	}
	err := group.Wait()
	if _, ok := errors.AsType[*fault.PanicError](err); !ok || done.Load() != 3 {
		t.Errorf("%v, %d others ended", err, done.Load())
	}
}

// TestKeepEnds: it is not called again after its context has ended.
func TestKeepEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var group routine.Group
	calls := 0
	group.Keep(ctx, "a test", func(context.Context) { calls++; cancel(); panic("a fault") })
	if err := group.Wait(); err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}
