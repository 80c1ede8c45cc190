package certify

import (
	"context"
	"log/slog"
	"sync"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/routine"

	"github.com/google/uuid"
)

// Background runs certifications that outlast the request that started them, one
// at a time per tenant.
type Background struct {
	service *Service
	log     *slog.Logger
	ctx     context.Context
	cancel  context.CancelFunc
	runs    sync.WaitGroup

	mu      sync.Mutex
	running map[uuid.UUID]bool // tenants
	closed  bool
}

// NewBackground returns a Background. Close must be called.
func NewBackground(s *Service, log *slog.Logger) *Background {
	ctx, cancel := context.WithCancel(context.Background())
	return &Background{service: s, log: log, ctx: ctx, cancel: cancel, running: map[uuid.UUID]bool{}}
}

// Start begins a run of Service.Webhooks and returns once it is stored. Its
// errors are those of Service.Webhooks, and ErrTooSoon if this process is already
// running one for the tenant.
func (b *Background) Start(ctx context.Context, actor audit.Actor, tenantID uuid.UUID) error {
	if !b.take(tenantID) {
		return ErrTooSoon
	}
	_, finish, err := b.service.Webhooks(ctx, actor, tenantID, Options{})
	if err != nil {
		b.give(tenantID)
		return err
	}
	routine.Go("certification", func() {
		defer b.give(tenantID)
		ctx, cancel := context.WithTimeout(b.ctx, MaxTime-2*storeTime)
		defer cancel()
		if _, err := finish(ctx); err != nil {
			b.log.LogAttrs(ctx, slog.LevelWarn, "a certification could not be done",
				slog.Any("tenant_id", tenantID), slog.Any("error", err), fault.Stack(err))
		}
	})
	return nil
}

// Last returns the newest run against a tenant's endpoint, or fault.NotFound.
func (b *Background) Last(ctx context.Context, tenantID uuid.UUID, endpointID string) (Run, error) {
	return b.service.Store.LastCertification(ctx, tenantID, endpointID)
}

func (b *Background) take(tenantID uuid.UUID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.running[tenantID] {
		return false
	}
	b.running[tenantID] = true
	b.runs.Add(1)
	return true
}

func (b *Background) give(tenantID uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, tenantID)
	b.runs.Done()
}

// Close cancels the runs and waits until they have stored that they ended.
func (b *Background) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	b.runs.Wait()
}
