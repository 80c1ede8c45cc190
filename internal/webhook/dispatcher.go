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
)

const (
	maxInFlight       = 50
	maxTenantInFlight = 8 // so that one hanging receiver starves nobody
	pollInterval      = time.Second

	// leaseTime outlives the longest attempt by enough to record it, so that a
	// delivery is not sent twice at once.
	leaseTime = AttemptTimeout + excerptTimeout + 14*time.Second

	// drainTime lets the attempts in flight end by themselves at shutdown.
	drainTime = AttemptTimeout + excerptTimeout + time.Second

	recordTime = 10 * time.Second // for writing a result down, retries included
	recordWait = 250 * time.Millisecond
	faultWait  = 5 * time.Second // before a delivery that failed by our own fault is due again

	pruneInterval = time.Hour
	pruneBatch    = 500
)

// Retention is how long deliveries and their attempts are kept.
const Retention = 30 * 24 * time.Hour

// Config is the dispatcher's configuration.
type Config struct {
	Live, Test Schedule
	Logger     *slog.Logger
	// Observe is told of every attempt that was made. Nil: nobody is.
	Observe func(class Class, livemode bool)
}

// Dispatcher delivers the events of the outbox. Any number of replicas may run
// one on the same database.
type Dispatcher struct {
	queue  Queue
	keys   Keys
	client *Client
	cfg    Config
	poll   time.Duration // pollInterval and drainTime, shorter in tests
	drain  time.Duration

	wake chan struct{}

	mu       sync.Mutex
	inFlight map[uuid.UUID]int // attempts under way, by tenant
	total    int
	running  sync.WaitGroup
}

// NewDispatcher returns a Dispatcher that does nothing until Run.
func NewDispatcher(queue Queue, keys Keys, client *Client, cfg Config) *Dispatcher {
	return &Dispatcher{
		queue: queue, keys: keys, client: client, cfg: cfg,
		poll: pollInterval, drain: drainTime,
		wake:     make(chan struct{}, 1),
		inFlight: make(map[uuid.UUID]int),
	}
}

// Wake makes the dispatcher look for due deliveries now. Call it after the
// transaction that inserted an event has been committed. It never blocks.
func (d *Dispatcher) Wake() {
	select {
	case d.wake <- struct{}{}:
	default: // a look is due already
	}
}

// Run delivers until ctx ends. Then it claims nothing more, lets the attempts
// in flight end, gives back what did not end in time (AttemptTimeout and a
// little), and returns; no lease of its own is left behind.
func (d *Dispatcher) Run(ctx context.Context) {
	attempts, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	var pruning sync.WaitGroup
	pruning.Go(func() { d.prune(ctx) })

	for ctx.Err() == nil {
		if err := d.round(ctx, attempts); err != nil && ctx.Err() == nil {
			d.cfg.Logger.Error("webhook: claiming deliveries failed", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-d.wake:
		case <-time.After(spread(d.poll, rand.Float64())): //nolint:gosec // spreading load, not a secret
		}
	}
	giveUp := time.AfterFunc(d.drain, abort)
	defer giveUp.Stop()
	d.running.Wait()
	pruning.Wait()
}

// round claims what is due and there is room for, and starts its attempts.
func (d *Dispatcher) round(ctx, attempts context.Context) error {
	tenants, err := d.queue.DueTenants(ctx)
	if err != nil {
		return err
	}
	// In random order, so that no tenant is always the last to find room.
	rand.Shuffle(len(tenants), func(i, j int) { tenants[i], tenants[j] = tenants[j], tenants[i] }) //nolint:gosec // fairness, not a secret
	for _, tenant := range tenants {
		room := d.room(tenant)
		if room == 0 {
			continue // the next attempt to end wakes us
		}
		// Not under ctx: a claim cut short may have been committed unseen.
		deliveries, err := d.queue.ClaimDeliveries(attempts, tenant, room, leaseTime)
		if err != nil {
			return err
		}
		if len(deliveries) == room {
			d.Wake() // there may be more
		}
		for _, delivery := range deliveries {
			d.start(attempts, delivery)
		}
	}
	return nil
}

// room returns how many more attempts may be made to a tenant now.
func (d *Dispatcher) room(tenant uuid.UUID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(0, min(maxTenantInFlight-d.inFlight[tenant], maxInFlight-d.total))
}

func (d *Dispatcher) start(attempts context.Context, delivery Delivery) {
	d.mu.Lock()
	d.total++
	d.inFlight[delivery.TenantID]++
	d.mu.Unlock()
	d.running.Go(func() {
		defer d.end(delivery.TenantID)
		d.deliver(attempts, delivery)
	})
}

// end frees an attempt's place, and wakes the dispatcher if it may have
// passed over work for want of it.
func (d *Dispatcher) end(tenant uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.total == maxInFlight || d.inFlight[tenant] == maxTenantInFlight {
		d.Wake()
	}
	d.total--
	d.inFlight[tenant]--
	if d.inFlight[tenant] == 0 {
		delete(d.inFlight, tenant)
	}
}

// deliver makes one attempt and writes its result down.
func (d *Dispatcher) deliver(ctx context.Context, delivery Delivery) {
	log := d.cfg.Logger.With("event", delivery.ID, "tenant", delivery.TenantID, "attempt", delivery.Lease.Number)
	header, err := d.sign(ctx, delivery)
	if err != nil {
		log.Error("webhook: signing failed", "error", err)
		d.release(log, delivery.Lease, faultWait)
		return
	}
	answer := d.client.Post(ctx, delivery.Destination, header, delivery.Body)
	if ctx.Err() != nil && answer.StatusCode == 0 {
		d.release(log, delivery.Lease, 0) // aborted by the shutdown, not by the receiver
		return
	}
	if d.cfg.Observe != nil {
		d.cfg.Observe(answer.Class, delivery.Livemode)
	}
	schedule := d.cfg.Test
	if delivery.Livemode {
		schedule = d.cfg.Live
	}
	outcome := judge(answer, schedule, delivery.Step, rand.Float64()) //nolint:gosec // spreading load, not a secret
	attempt := Attempt{
		Number:     delivery.Lease.Number,
		At:         delivery.Lease.At,
		Class:      answer.Class,
		StatusCode: answer.StatusCode,
		Latency:    answer.Latency,
		Excerpt:    answer.Excerpt,
	}
	d.record(log, func(ctx context.Context) error {
		return d.queue.FinishDelivery(ctx, delivery, attempt, outcome)
	})
	log.Info("webhook: attempted", "class", answer.Class, "status", answer.StatusCode, "latency", answer.Latency)
}

// sign stamps the attempt with the database's clock: a replica whose own clock
// is wrong would otherwise send what receivers must refuse as stale.
func (d *Dispatcher) sign(ctx context.Context, delivery Delivery) (http.Header, error) {
	keys, err := d.keys.WebhookKeys(ctx, delivery.TenantID, delivery.Livemode)
	if err != nil {
		return nil, err
	}
	return Sign(keys, delivery.ID, delivery.Lease.At, delivery.Body)
}

func (d *Dispatcher) release(log *slog.Logger, lease Lease, after time.Duration) {
	d.record(log, func(ctx context.Context) error { return d.queue.ReleaseDelivery(ctx, lease, after) })
}

// record writes a result down, again and again while the database is away:
// one that is lost means a repeated delivery. It works through a shutdown.
func (d *Dispatcher) record(log *slog.Logger, write func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), recordTime)
	defer cancel()
	for {
		err := write(ctx)
		if err == nil {
			return
		}
		if errors.Is(err, ErrLeaseLost) {
			log.Warn("webhook: the lease ended before the attempt was recorded")
			return
		}
		select {
		case <-time.After(recordWait):
		case <-ctx.Done():
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
		select {
		case <-ctx.Done():
		case <-time.After(spread(pruneInterval, rand.Float64())): //nolint:gosec // spreading load, not a secret
		}
	}
}
