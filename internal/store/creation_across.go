package store

import (
	"context"

	"github.com/google/uuid"

	"agegate/internal/rules/billing"
)

// createWithOthers performs CreateSessions on PostgreSQL. Creations of several
// tenants that arrive while others are being written share the next statement. It
// leaves out those for which it would have to wait, which are then written alone.
func (s *Store) createWithOthers(ctx context.Context, b batch) (bool, error) {
	defer s.writing.Add(-1)
	usual := len(b.rows[0].columns) == len(newSession.columns) // those of a statement must have the same columns
	if s.writing.Add(1) > 1 && usual {
		var err error
		if b.asked, err = asks(b); err != nil {
			return false, err
		}
		created, err := s.batches.Do(ctx, b.purchase.Credit, b)
		if err != nil {
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
// that has a row there and has the terms of the batch, unless another transaction has
// locked one of these rows. It keeps them locked; what its foreign keys lock is among
// them. So it waits for no other transaction.
const (
	acrossTenants = `
		WITH reached AS MATERIALIZED (
			SELECT asked.* FROM json_to_recordset(CAST(? AS json)) AS asked (
				tenant_id uuid, counter text, period text, units bigint, most bigint, instant timestamptz,
				success_url text, cancel_url text, webhook_url text, free_checks bigint, test_cap bigint)
			JOIN tenants t ON t.id = asked.tenant_id
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

// askedColumns are those of the statements above.
var askedColumns = []string{
	"tenant_id", "counter", "period", "units", "most", "instant", "success_url", "cancel_url", "webhook_url",
	"free_checks", "test_cap",
}

// asks returns what a batch takes, as an object of JSON.
func asks(b batch) ([]byte, error) {
	p, t := b.purchase, b.terms
	return appendObject(make([]byte, 0, sizeOfObject), askedColumns, []any{
		p.TenantID, string(p.Counter()), p.Period, p.Units, limitOrNone(p.Limit), p.Now,
		t.SuccessURL, t.CancelURL, t.WebhookURL, t.FreeChecks, t.TestCap,
	})
}

// createAcross writes batches of several tenants, all paid from counters or all from
// credit, in one statement of PostgreSQL. It returns whether the first session of
// each batch was written; those that the statement did not reach are missing. Each
// batch is written completely or not at all.
func (s *Store) createAcross(
	ctx context.Context, credit bool, batches []batch,
) (created map[uuid.UUID]bool, err error) {
	const paid = "tenant_id IN (SELECT tenant_id FROM paid)"
	first := make(map[uuid.UUID]uuid.UUID, len(batches))
	asked := make([][]byte, 0, len(batches))
	rows := make([][][]byte, len(batches[0].rows))
	for _, b := range batches {
		if _, twice := first[b.purchase.TenantID]; twice { // in test and live mode, for example
			continue
		}
		first[b.purchase.TenantID] = b.sessions[0].ID
		asked = append(asked, b.asked)
		for i, set := range b.rows {
			if len(set.objects) > 0 {
				rows[i] = append(rows[i], set.objects)
			}
		}
	}
	statement, args := acrossCounters, []any{array(asked...)}
	if credit {
		statement = acrossCredits
	}
	for i, set := range batches[0].rows {
		if len(rows[i]) > 0 {
			statement += set.insertion(paid)
			args = append(args, array(rows[i]...))
		}
	}
	statement = numbered(statement + " SELECT tenant_id, " + paid + " FROM reached")
	err = s.retry(ctx, func(ctx context.Context) (bool, error) {
		created = make(map[uuid.UUID]bool, len(first))
		rows, err := s.writer.ConnPool.QueryContext(ctx, statement, args...) //nolint:sqlclosecheck // each closes them
		if err == nil {
			err = each(rows, func() error {
				var tenantID uuid.UUID
				var paid bool
				err := rows.Scan(&tenantID, &paid)
				created[first[tenantID]] = paid
				return err
			})
		}
		err = translate(err)
		return rolledBack(err), err
	})
	return created, err
}
