package webhook

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"agegate/internal/rules/routine"
	"agegate/internal/rules/trail"
)

// claimBatch is the maximum number of tenants whose deliveries one transaction claims,
// for each lane. The next round claims the rest. It starts at once, with the prompt
// lane, so a prompt delivery waits for at most one small claim of slow ones.
var claimBatch = [lanes]int{promptLane: 32, slowLane: 8}

const (
	pollInterval = time.Second

	// leaseTime covers the longest attempt and the time to record it, so that no
	// second attempt starts meanwhile.
	leaseTime = AttemptTimeout + excerptTimeout + 14*time.Second

	// DrainTime is how long a shutdown waits for running attempts.
	DrainTime = 7 * time.Second

	recordTime = 10 * time.Second // for writing a result, retries included
	lastRecord = time.Second      // the same once a shutdown has aborted the attempts
	recordWait = 250 * time.Millisecond
	// maxRecording bounds the results that are written at once. Attempts that
	// began together also time out together, and would otherwise take every
	// database connection from the requests of shoppers.
	maxRecording = 8
	faultWait    = 5 * time.Second // wait before a delivery that failed on the gateway's side is due again

	pruneInterval = time.Hour
	pruneBatch    = 500
)

// Retention is how long deliveries and their attempts are kept.
const Retention = 30 * 24 * time.Hour

// Config is the dispatcher's configuration.
type Config struct {
	Live, Test Schedule
	Logger     *slog.Logger
	// Observe is called after every attempt that was made. May be nil.
	Observe func(class Class, livemode bool)
}

// Dispatcher delivers the events of the outbox. Any number of replicas may run
// one on the same database.
type Dispatcher struct {
	queue  Queue
	keys   Keys
	client *Client
	cfg    Config

	wake      chan struct{}
	slots     *slots
	running   sync.WaitGroup
	recording chan struct{} // holds one element per result being written
}

// NewDispatcher returns a Dispatcher that does nothing until Run.
func NewDispatcher(queue Queue, keys Keys, client *Client, cfg Config) *Dispatcher {
	return &Dispatcher{
		queue: queue, keys: keys, client: client, cfg: cfg,
		wake:      make(chan struct{}, 1),
		slots:     newSlots(),
		recording: make(chan struct{}, maxRecording),
	}
}

// Wake makes the dispatcher look for due deliveries now. Call it after the
// transaction that inserted an event has been committed. It never blocks.
func (d *Dispatcher) Wake() {
	select {
	case d.wake <- struct{}{}:
	default: // already requested
	}
}

// Run delivers until ctx ends. Then it claims nothing more, waits for the
// attempts in flight, releases the leases of those that do not end in DrainTime,
// and returns.
func (d *Dispatcher) Run(ctx context.Context) {
	attempts, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	var pruning routine.Group
	pruning.Keep(ctx, "pruning of webhook deliveries", d.prune)

	for ctx.Err() == nil {
		if err := d.round(ctx, attempts); err != nil && ctx.Err() == nil {
			d.cfg.Logger.Error("webhook: claiming deliveries failed", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-d.wake:
		case <-time.After(spread(pollInterval, rand.Float64())): //nolint:gosec // spreading load, not a secret
		}
	}
	giveUp := time.AfterFunc(DrainTime, abort)
	defer giveUp.Stop()
	d.running.Wait()
	_ = pruning.Wait() // prune returns no error
}

// round claims due deliveries for the free slots and starts their attempts.
func (d *Dispatcher) round(ctx, attempts context.Context) error {
	due, err := d.queue.DueTenants(ctx)
	if err != nil {
		return err
	}
	// In random order, so that no tenant is always served last.
	//nolint:gosec // used for fairness, not for a secret
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	var byLane [lanes][]uuid.UUID
	for _, tenant := range due {
		l := d.slots.laneOf(tenant)
		byLane[l] = append(byLane[l], tenant)
	}
	for l, tenants := range byLane {
		// This does not use ctx, because a cancelled claim may still have been
		// committed.
		if err := d.claim(attempts, lane(l), tenants); err != nil {
			return err
		}
	}
	return nil
}

// claim takes slots in the lane for the tenants, claims at most as many
// deliveries, and starts their attempts.
func (d *Dispatcher) claim(ctx context.Context, l lane, tenants []uuid.UUID) error {
	taken := make(map[uuid.UUID][]*slot)
	var claims []Claim
	for _, tenant := range tenants {
		if len(claims) == claimBatch[l] {
			d.Wake() // for the tenants that are left
			break
		}
		if slots := d.slots.take(tenant, l); len(slots) > 0 {
			taken[tenant] = slots
			claims = append(claims, Claim{TenantID: tenant, Limit: len(slots)})
		}
	}
	if len(claims) == 0 {
		return nil
	}
	deliveries, err := d.queue.ClaimDeliveries(ctx, claims, leaseTime)
	for _, delivery := range deliveries {
		left := taken[delivery.TenantID]
		d.start(ctx, delivery, left[0])
		taken[delivery.TenantID] = left[1:]
	}
	for _, unused := range taken {
		if len(unused) == 0 {
			d.Wake() // the tenant may have more
		}
		d.slots.giveBack(unused)
	}
	return err
}

func (d *Dispatcher) start(ctx context.Context, delivery Delivery, held *slot) {
	d.running.Add(1)
	routine.Go("attempt of a webhook", func() {
		defer d.running.Done()
		defer func() {
			if d.slots.leave(held) {
				d.Wake()
			}
		}()
		d.deliver(ctx, delivery, held)
	})
}

// post makes the request and records in slots whether it was prompt.
func (d *Dispatcher) post(ctx context.Context, delivery Delivery, header http.Header, held *slot) Answer {
	overdue := time.AfterFunc(promptTime, func() {
		d.slots.overdue(held)
		d.Wake() // a slot in the prompt lane is free now
	})
	answer := d.client.Post(ctx, delivery.Destination, header, delivery.Body)
	if overdue.Stop() {
		d.slots.answered(held)
	}
	return answer
}

// deliver makes one attempt and records its result.
func (d *Dispatcher) deliver(ctx context.Context, delivery Delivery, held *slot) {
	ctx, end := trail.Job(ctx, "webhook attempt", trace.WithSpanKind(trace.SpanKindClient), trail.Link(delivery.Trace))
	var class Class
	defer func() {
		end(nil, slog.String("event", delivery.ID), slog.String("tenant_id", delivery.TenantID.String()),
			slog.String("class", string(class)))
	}()
	log := d.cfg.Logger.With("event", delivery.ID, "tenant_id", delivery.TenantID, "attempt", delivery.Lease.Number)
	header, err := d.sign(ctx, delivery)
	if err != nil {
		log.Error("webhook: signing failed", "error", err)
		d.release(ctx, log, delivery.Lease, faultWait)
		return
	}
	answer := d.post(ctx, delivery, header, held)
	class = answer.Class
	if ctx.Err() != nil && answer.StatusCode == 0 {
		d.release(ctx, log, delivery.Lease, 0) // the shutdown aborted it, not the receiver
		return
	}
	if d.cfg.Observe != nil {
		d.cfg.Observe(answer.Class, delivery.Livemode)
	}
	schedule := d.cfg.Test
	if delivery.Livemode {
		schedule = d.cfg.Live
	}
	disposition := judge(answer, schedule, delivery.Step, rand.Float64()) //nolint:gosec // spreading load, not a secret
	attempt := Attempt{Number: delivery.Lease.Number, At: delivery.Lease.At, Class: answer.Class,
		StatusCode: answer.StatusCode, Latency: answer.Latency, Excerpt: answer.Excerpt}
	d.record(ctx, log, func(ctx context.Context) error {
		return d.queue.FinishDelivery(ctx, delivery, attempt, disposition)
	})
	log.Info("webhook: attempted", "class", answer.Class, "status", answer.StatusCode, "latency", answer.Latency)
}

// sign uses the database's clock for the timestamp: with a wrong clock of its
// own, a replica would send deliveries that receivers refuse as stale.
func (d *Dispatcher) sign(ctx context.Context, delivery Delivery) (http.Header, error) {
	keys, err := d.keys.WebhookKeys(ctx, delivery.TenantID, delivery.Livemode)
	if err != nil {
		return nil, err
	}
	return Sign(keys, delivery.ID, delivery.Lease.At, delivery.Body)
}

func (d *Dispatcher) release(attempts context.Context, log *slog.Logger, lease Lease, after time.Duration) {
	d.record(attempts, log, func(ctx context.Context) error { return d.queue.ReleaseDelivery(ctx, lease, after) })
}

// record writes a result and retries while the database is unavailable: a lost
// result means a repeated delivery. A shutdown that aborts the attempts leaves it
// lastRecord.
func (d *Dispatcher) record(attempts context.Context, log *slog.Logger, write func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(attempts), recordTime)
	defer cancel()
	defer context.AfterFunc(attempts, func() { time.AfterFunc(lastRecord, cancel) })()
	select {
	case d.recording <- struct{}{}:
		defer func() { <-d.recording }()
	case <-ctx.Done():
		log.Error("webhook: recording failed; the delivery will be repeated", "error", ctx.Err())
		return
	}
	for {
		err := write(ctx)
		if err == nil {
			return
		}
		if errors.Is(err, ErrLeaseLost) {
			log.Warn("webhook: the lease ended before the attempt was recorded")
			return
		}
		if routine.Wait(ctx, recordWait) != nil {
			log.Error("webhook: recording failed; the delivery will be repeated", "error", err)
			return
		}
	}
}

// prune deletes deliveries past their retention, at the start and every hour.
func (d *Dispatcher) prune(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := d.queue.PruneEvents(ctx, Retention, pruneBatch)
		if err != nil && ctx.Err() == nil {
			d.cfg.Logger.Error("webhook: pruning failed", "error", err)
		}
		if n == pruneBatch {
			continue
		}
		_ = routine.Wait(ctx, spread(pruneInterval, rand.Float64())) //nolint:gosec // spreading load, not a secret
	}
}
