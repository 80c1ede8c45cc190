package session

import (
	"context"
	"fmt"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// Record holds the data that determines whether a session may be deleted.
type Record struct {
	ID          uuid.UUID
	TenantID    uuid.UUID
	Status      Status
	CreatedAt   time.Time
	ExpiresAt   time.Time
	Undelivered bool // its event has not been delivered yet
}

// Open reports whether the session can still be completed at now.
func (r Record) Open(now time.Time) bool {
	return !statusAt(r.Status, r.ExpiresAt, now).Terminal()
}

// RecordStore deletes sessions.
type RecordStore interface {
	// UpdateRecords runs fn in one transaction.
	UpdateRecords(ctx context.Context, fn func(RecordTx) error) error
	// CountUnfinished returns how many of a tenant's sessions are open at now, how many of its events have not been
	// delivered yet, and when the last of the sessions expires.
	CountUnfinished(ctx context.Context, tenantID uuid.UUID, now time.Time) (open, events int64, last time.Time, err error)
}

// RecordTx is one transaction that deletes sessions.
type RecordTx interface {
	billing.Tx
	audit.Tx
	// LockRecord locks a session and its event until the transaction ends. It
	// returns fault.NotFound.
	LockRecord(id uuid.UUID) (Record, error)
	// LockRecords locks up to limit of a tenant's sessions that were created
	// before a time, and their events. It returns them oldest first, starting
	// after the given record; the zero Record starts at the oldest.
	LockRecords(tenantID uuid.UUID, before time.Time, after Record, limit int) ([]Record, error)
	// DeleteRecords deletes sessions and everything that belongs to them except
	// ledger entries: hold, handover, idempotency claims, event and attempts.
	DeleteRecords(ids []uuid.UUID) error
}

// Records deletes sessions. It may run while gateways serve the same database.
type Records struct {
	store RecordStore
	now   func() time.Time
}

// NewRecords returns the service over a store. now must return UTC.
func NewRecords(store RecordStore, now func() time.Time) *Records {
	return &Records{store: store, now: now}
}

// Delete deletes one session of a tenant, with an entry of the tenant's audit
// log. It returns fault.NotFound, even for another tenant's session, and
// fault.Conflict if the session is open or its event has not been delivered.
func (r *Records) Delete(ctx context.Context, actor audit.Actor, tenantID, id uuid.UUID) error {
	return r.delete(ctx, actor, id, func(of uuid.UUID) bool { return of == tenantID })
}

// DeleteAsOperator deletes a session of any tenant as Delete does. It is for the
// operator's command line only.
func (r *Records) DeleteAsOperator(ctx context.Context, actor audit.Actor, id uuid.UUID) error {
	return r.delete(ctx, actor, id, func(uuid.UUID) bool { return true })
}

func (r *Records) delete(
	ctx context.Context, actor audit.Actor, id uuid.UUID, mayDelete func(tenantID uuid.UUID) bool,
) error {
	now := r.now()
	return r.store.UpdateRecords(ctx, func(tx RecordTx) error {
		record, err := tx.LockRecord(id)
		switch {
		case err != nil:
			return notFoundAs(err, errNotFound)
		case !mayDelete(record.TenantID):
			return errNotFound
		case record.Open(now):
			return fault.New(fault.Conflict, "the session is open until "+record.ExpiresAt.UTC().Format(time.RFC3339))
		case record.Undelivered:
			return fault.New(fault.Conflict, "the session's webhook is still to be delivered"+tried)
		}
		if err := erase(tx, record.TenantID, []uuid.UUID{id}, now); err != nil {
			return err
		}
		return tx.AppendAudit(audit.Act{
			Scope: audit.OfTenant(record.TenantID), At: now, Actor: actor, Action: audit.SessionDelete, Target: id.String(),
		})
	})
}

// erase deletes finished sessions of a tenant. The caller holds their locks.
func erase(tx RecordTx, tenantID uuid.UUID, ids []uuid.UUID, now time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	if err := billing.ReleaseOf(tx, tenantID, ids, now); err != nil {
		return err
	}
	return tx.DeleteRecords(ids)
}

// Pruned counts the sessions that a run of Prune has processed so far.
type Pruned struct {
	Deleted     int `json:"deleted"`
	Open        int `json:"kept_open"`
	Undelivered int `json:"kept_undelivered"` // their event has not been delivered yet
}

// recordBatch is the maximum number of sessions that one transaction deletes. It
// is small, so that other transactions wait only milliseconds.
const recordBatch = 50

// Prune deletes a tenant's sessions that were created before a time, except those
// that Delete refuses. It works in small transactions and pauses after each for
// as long as it took. progress is called with the totals after each transaction;
// after an error, the deletions so far are kept, and another run continues with
// the rest. The entry of the tenant's audit log is written with the first
// deletion.
func (r *Records) Prune(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, before time.Time, progress func(Pruned),
) (total Pruned, err error) {
	act := &audit.Act{
		Scope: audit.OfTenant(tenantID), At: r.now(), Actor: actor, Action: audit.SessionPrune, Target: tenantID.String(),
		Detail: audit.Detail{Params: map[string]string{"created_before": before.UTC().Format(time.RFC3339)}},
	}
	var last Record
	for {
		start := time.Now()
		batch, n, end, err := r.pruneBatch(ctx, tenantID, before, last, act)
		if err != nil {
			return total, err
		}
		if batch.Deleted > 0 {
			act = nil
		}
		total.Deleted += batch.Deleted
		total.Open += batch.Open
		total.Undelivered += batch.Undelivered
		last = end
		progress(total)
		if n < recordBatch {
			return total, nil
		}
		if err := routine.Rest(ctx, start); err != nil {
			return total, err
		}
	}
}

// pruneBatch processes the next n sessions after the given record; end is the
// last of them. If it deletes a session, it writes the act, unless that is nil.
func (r *Records) pruneBatch(
	ctx context.Context, tenantID uuid.UUID, before time.Time, after Record, act *audit.Act,
) (batch Pruned, n int, end Record, err error) {
	now := r.now()
	err = r.store.UpdateRecords(ctx, func(tx RecordTx) error {
		records, err := tx.LockRecords(tenantID, before, after, recordBatch)
		if err != nil {
			return err
		}
		batch, n, end = Pruned{}, len(records), after
		var ids []uuid.UUID
		for _, record := range records {
			end = record
			switch {
			case record.Open(now):
				batch.Open++
			case record.Undelivered:
				batch.Undelivered++
			default:
				ids = append(ids, record.ID)
			}
		}
		batch.Deleted = len(ids)
		if err := erase(tx, tenantID, ids, now); err != nil || len(ids) == 0 || act == nil {
			return err
		}
		return tx.AppendAudit(*act)
	})
	return batch, n, end, err
}

// DeleteAll deletes all sessions of a disabled tenant, with the steps and the progress
// of Prune. It returns fault.Conflict, and deletes nothing, if the tenant is not
// disabled, has an open session, or has an undelivered event.
func (r *Records) DeleteAll(
	ctx context.Context, actor audit.Actor, t tenant.Tenant, progress func(Pruned),
) (Pruned, error) {
	if err := r.CheckFinished(ctx, t); err != nil {
		return Pruned{}, err
	}
	// The hour allows for replicas whose clocks are ahead of this one's.
	total, err := r.Prune(ctx, actor, t.ID, r.now().Add(time.Hour), progress)
	if err == nil && total.Open+total.Undelivered > 0 {
		err = fault.New(fault.Conflict, "a session was created meanwhile: try again later")
	}
	return total, err
}

// tried says how long a webhook is to be delivered, and how that ends.
const tried = "; each is tried for three days, or at a disabled endpoint once agegate webhook enable lets it"

// CheckFinished returns the error with which DeleteAll would refuse.
func (r *Records) CheckFinished(ctx context.Context, t tenant.Tenant) error {
	if !t.Disabled {
		return tenant.ErrEnabled
	}
	open, undelivered, last, err := r.store.CountUnfinished(ctx, t.ID, r.now())
	if err != nil || open == 0 && undelivered == 0 {
		return err
	}
	text := fmt.Sprintf("still in use: sessions open: %d, webhooks to be delivered: %d", open, undelivered)
	if open > 0 {
		text += "; the last session expires at " + last.UTC().Format(time.RFC3339)
	}
	if undelivered > 0 {
		text += tried
	}
	return fault.New(fault.Conflict, text)
}
