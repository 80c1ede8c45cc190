package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"agegate/internal/billing"
)

// TestGathering: one creation is being written while others come; these are
// written together, but for those that share nothing with it.
func TestGathering(t *testing.T) {
	errDown := errors.New("down")
	for _, tt := range []struct {
		name    string
		come    int
		batches []int // as they are written
		err     error
	}{
		{"alone", 0, []int{1}, nil},
		{"together", 5, []int{1, 5}, nil},
		{"more than one transaction writes", 150, []int{1, 64, 64, 22}, nil},
		{"each learns of a failure", 5, []int{1, 5}, errDown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var batches []int
				proceed := make(chan struct{})
				g := gathering{lines: map[line][]*waiting{}, together: func(_ context.Context, _ billing.Terms, batch []creation) (bool, error) {
					batches = append(batches, len(batch))
					<-proceed
					return tt.err == nil, tt.err
				}}
				var wg sync.WaitGroup
				come := func() {
					wg.Go(func() {
						written, err := g.write(t.Context(), billing.Terms{Limit: 1}, creation{})
						if written != (tt.err == nil) || !errors.Is(err, tt.err) {
							t.Errorf("written %t, %v", written, err)
						}
					})
				}
				come()
				synctest.Wait()
				for range tt.come {
					come()
				}
				synctest.Wait()
				close(proceed)
				wg.Wait()
				synctest.Wait()
				if len(g.lines) != 0 {
					t.Error("a line is left")
				}
				if !slices.Equal(batches, tt.batches) {
					t.Errorf("batches of %v, want %v", batches, tt.batches)
				}
			})
		})
	}
}

// TestGatheringKeepsApart: a line that waits for the database keeps nobody else
// waiting, and who leaves a line is not written.
func TestGatheringKeepsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := billing.Terms{Period: "busy"}
		proceed := make(chan struct{})
		written := 0
		g := gathering{lines: map[line][]*waiting{}, together: func(_ context.Context, terms billing.Terms, batch []creation) (bool, error) {
			if terms == busy {
				<-proceed
				written += len(batch)
			}
			return true, nil
		}}
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = g.write(t.Context(), busy, creation{}) })
		synctest.Wait()
		for _, other := range []struct {
			terms billing.Terms
			claim *IdempotencyClaim
		}{{billing.Terms{Period: "other"}, nil}, {billing.Terms{Period: "other", Livemode: true}, &IdempotencyClaim{}}} {
			if ok, err := g.write(t.Context(), other.terms, creation{claim: other.claim}); !ok || err != nil {
				t.Errorf("another line: %t, %v", ok, err)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := g.write(ctx, busy, creation{}); !errors.Is(err, context.Canceled) {
				t.Errorf("who left: %v", err)
			}
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		close(proceed)
		wg.Wait()
		synctest.Wait()
		if written != 1 || len(g.lines) != 0 {
			t.Errorf("%d written, %d lines left", written, len(g.lines))
		}
	})
}
