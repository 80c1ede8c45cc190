package gather_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agegate/internal/rules/fault"
	"agegate/internal/rules/gather"
)

// TestDo: while one call runs, others arrive and are then served together.
func TestDo(t *testing.T) {
	errDown := errors.New("down")
	for _, tt := range []struct {
		name string
		come int
		runs []int // number of calls that each run serves
		err  error
	}{
		{"alone", 0, []int{1}, nil},
		{"together", 5, []int{1, 5}, nil},
		{"more than one run serves", 150, []int{1, 64, 64, 22}, nil},
		{"each learns of a failure", 5, []int{1, 5}, errDown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs []int
				proceed := make(chan struct{})
				g := gather.New(64, func(_ context.Context, _ string, values []int) (int, error) {
					runs = append(runs, len(values))
					<-proceed
					return len(values), tt.err
				})
				var wg sync.WaitGroup
				for range 1 + tt.come {
					wg.Go(func() {
						if n, err := g.Do(t.Context(), "key", 1); n == 0 || !errors.Is(err, tt.err) {
							t.Errorf("Do = %d, %v", n, err)
						}
					})
					synctest.Wait()
				}
				close(proceed)
				wg.Wait()
				if !slices.Equal(runs, tt.runs) {
					t.Errorf("runs of %v, want %v", runs, tt.runs)
				}
				proceed = make(chan struct{})
				close(proceed)
				if n, _ := g.Do(t.Context(), "key", 1); n != 1 {
					t.Error("the key is still busy")
				}
			})
		})
	}
}

// TestDoKeepsApart: a slow run of one key does not delay other keys, and a call
// that has given up is not served.
func TestDoKeepsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		served := 0
		g := gather.New(64, func(_ context.Context, key string, values []int) (int, error) {
			if key == "busy" {
				<-proceed
				served += len(values)
			}
			return 0, nil
		})
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = g.Do(t.Context(), "busy", 1) })
		synctest.Wait()
		if _, err := g.Do(t.Context(), "other", 1); err != nil {
			t.Error(err)
		}
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Do(late, "busy", 1); fault.CodeOf(err) != fault.Unavailable ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("whose time was over: %v", err)
		}
		ctx, giveUp := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := g.Do(ctx, "busy", 1); !errors.Is(err, context.Canceled) {
				t.Errorf("who gave up: %v", err)
			}
		})
		synctest.Wait()
		giveUp()
		synctest.Wait()
		close(proceed)
		wg.Wait()
		if served != 1 {
			t.Errorf("%d served", served)
		}
	})
}

// TestDoSurvivesAPanic: every call of a run that panics gets the error, and
// later calls are served.
func TestDoSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		runs := 0
		g := gather.New(2, func(_ context.Context, _ string, values []int) (int, error) {
			runs++
			<-proceed
			if runs == 2 {
				panic("an input")
			}
			return len(values), nil
		})
		var wg sync.WaitGroup
		var mu sync.Mutex
		var panicked []error
		for range 1 + 2 + 2 {
			wg.Go(func() {
				if _, err := g.Do(t.Context(), "key", 1); err != nil {
					mu.Lock()
					defer mu.Unlock()
					panicked = append(panicked, err)
				}
			})
			synctest.Wait()
		}
		close(proceed)
		wg.Wait()
		if len(panicked) != 2 || runs != 3 {
			t.Fatalf("%d runs, in which %d calls learned of a panic", runs, len(panicked))
		}
		for _, err := range panicked {
			p, ok := errors.AsType[*fault.PanicError](err)
			if !ok || p.Error() != "panic: string" || !strings.Contains(strings.Join(p.Frames, " "), "TestDoSurvivesAPanic") {
				t.Errorf("%v, %+v", err, p)
			}
		}
	})
}
