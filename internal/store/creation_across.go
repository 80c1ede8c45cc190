package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// createWithOthers performs CreateSessions on PostgreSQL. Creations of several
// tenants that arrive while others are being written share the next statement. It
// leaves out those for which it would have to wait, which are then written alone.
func (s *Store) createWithOthers(ctx context.Context, b batch) (bool, error) {
	defer s.writing.Add(-1)
	if s.writing.Add(1) > 1 {
		created, err := s.batches.Do(ctx, b.purchase.Credit, b)
		if err != nil && !errors.Is(err, tenant.ErrMoving) { // which may concern another
			return false, err
		}
		if paid, reached := created[b.sessions[0].ID]; reached {
			return paid, nil
		}
	}
	return s.createAtOnce(ctx, b)
}

// The parts of a statement that takes units of several tenants, each from its
// period's counter or from its credit, as taking does for one. It reaches a tenant
// that has a row there, has the terms of the batch and does not move, unless another transaction has locked one
// of these rows. It keeps them locked; what its foreign keys and triggers lock is
// among them. So it waits for no other transaction.
const (
	acrossTenants = `
		WITH reached AS MATERIALIZED (
			SELECT asked.* FROM json_to_recordset(CAST(? AS json)) AS asked (
				tenant_id uuid, counter text, period text, units bigint, most bigint, instant timestamptz,
				success_url text, cancel_url text, webhook_url text, free_checks bigint, test_cap bigint)
			JOIN tenants t ON t.id = asked.tenant_id AND t.move_state = ''
			AND (t.success_url, t.cancel_url, t.webhook_url) = (asked.success_url, asked.cancel_url, asked.webhook_url)
			AND t.free_checks IS NOT DISTINCT FROM asked.free_checks AND t.test_cap IS NOT DISTINCT FROM asked.test_cap `
	skippingLocked = `
			FOR NO KEY UPDATE OF balance SKIP LOCKED FOR KEY SHARE OF t SKIP LOCKED
		), paid AS (`
	acrossCounters = acrossTenants + `
			JOIN usage_counters balance USING (tenant_id, counter, period)` + skippingLocked + `
			UPDATE usage_counters u SET used = u.used + r.units FROM reached r
			WHERE u.tenant_id = r.tenant_id AND u.counter = r.counter AND u.period = r.period AND u.used <= r.most - r.units
			RETURNING u.tenant_id)`
	acrossCredits = acrossTenants + `
			JOIN credit_balances balance USING (tenant_id)` + skippingLocked + `
			UPDATE credit_balances c SET units = c.units - r.units FROM reached r
			WHERE c.tenant_id = r.tenant_id AND c.units >= r.units
			AND r.most <= coalesce((
				SELECT used FROM usage_counters u WHERE u.tenant_id = r.tenant_id AND u.counter = r.counter AND u.period = r.period), 0)
			AND NOT EXISTS (
				SELECT 1 FROM holds h WHERE h.tenant_id = r.tenant_id AND h.source = '` + string(billing.SourceFree) + `'
				AND h.period = r.period AND h.status = '` + holdOpen + `' AND h.expires_at <= r.instant)
			RETURNING c.tenant_id)`
)

// asked is what a tenant's batch takes.
type asked struct {
	TenantID uuid.UUID       `json:"tenant_id"`
	Counter  billing.Counter `json:"counter"`
	Period   string          `json:"period"`
	Units    int64           `json:"units"`
	Most     int64           `json:"most"`
	Instant  time.Time       `json:"instant"`

	SuccessURL string `json:"success_url"`
	CancelURL  string `json:"cancel_url"`
	WebhookURL string `json:"webhook_url"`
	FreeChecks *int64 `json:"free_checks"`
	TestCap    *int64 `json:"test_cap"`
}

// createAcross writes batches of several tenants, all paid from counters or all from
// credit, in one statement of PostgreSQL. It returns whether the first session of
// each batch was written; those that the statement did not reach are missing. Each
// batch is written completely or not at all.
func (s *Store) createAcross(ctx context.Context, credit bool, batches []batch) (created map[uuid.UUID]bool, err error) {
	var sessions []session.Session
	var holds []billing.Hold
	var entries []billing.Entry
	var of []asked
	first := map[uuid.UUID]uuid.UUID{}
	for _, b := range batches {
		p := b.purchase
		if _, twice := first[p.TenantID]; twice { // in test and live mode, for example
			continue
		}
		first[p.TenantID] = b.sessions[0].ID
		of = append(of, asked{
			p.TenantID, p.Counter(), p.Period, p.Units, most(p.Limit), at(p.Now),
			b.terms.SuccessURL, b.terms.CancelURL, b.terms.WebhookURL, b.terms.FreeChecks, b.terms.TestCap,
		})
		sessions, holds, entries = append(sessions, b.sessions...), append(holds, p.Holds...), append(entries, p.Entries...)
	}
	list, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	statement := acrossCounters
	if credit {
		statement = acrossCredits
	}
	err = s.retry(ctx, func(ctx context.Context) (bool, error) {
		created = map[uuid.UUID]bool{}
		tx := s.tx(s.writer.WithContext(ctx))
		into, args, err := tx.insertions("tenant_id IN (SELECT tenant_id FROM paid)",
			[]any{mapAll(sessions, fromSession), mapAll(holds, fromHold), mapAll(entries, fromEntry)})
		if err != nil {
			return false, err
		}
		rows, err := tx.db.Raw(statement+into+" SELECT tenant_id, tenant_id IN (SELECT tenant_id FROM paid) FROM reached",
			append([]any{string(list)}, args...)...).Rows() //nolint:sqlclosecheck // each closes them
		if err != nil {
			return rolledBack(err), err
		}
		err = translate(each(rows, func() error {
			var tenantID uuid.UUID
			var paid bool
			err := rows.Scan(&tenantID, &paid)
			created[first[tenantID]] = paid
			return err
		}))
		return rolledBack(err), err
	})
	return created, err
}
