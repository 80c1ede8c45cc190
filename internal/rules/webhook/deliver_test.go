package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
)

// aborting answers 200 and ends the attempt while its body is read.
type aborting struct{ abort context.CancelFunc }

func (a aborting) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: a}, nil
}

func (a aborting) Read([]byte) (int, error) {
	a.abort()
	return 0, context.Canceled
}

func (aborting) Close() error { return nil }

// results is a Queue and Keys for one attempt.
type results struct {
	Queue
	finished []Disposition
	released int
}

func (r *results) FinishDelivery(_ context.Context, _ Delivery, _ Attempt, o Disposition) error {
	r.finished = append(r.finished, o)
	return nil
}

func (r *results) ReleaseDelivery(context.Context, Lease, time.Duration) error {
	r.released++
	return nil
}

func (r *results) WebhookKeys(context.Context, uuid.UUID, bool) ([][]byte, error) {
	return [][]byte{vectorKey()}, nil
}

// An answer that has arrived counts, even if a shutdown does not wait for its
// body: a delivered event is not sent again.
func TestAnswerCountsAtShutdown(t *testing.T) {
	ctx, abort := context.WithCancel(t.Context())
	r := new(results)
	d := NewDispatcher(r, r, &Client{transport: aborting{abort}, timeout: AttemptTimeout},
		Config{Logger: slog.New(slog.DiscardHandler)})
	d.deliver(ctx, Delivery{Event: Event{ID: "evt_1", Destination: "https://shop.example/hook"}}, new(slot))
	if len(r.finished) != 1 || r.finished[0].Action != ActionFinish || r.released != 0 {
		t.Fatalf("finished %+v, released %d times", r.finished, r.released)
	}
}
