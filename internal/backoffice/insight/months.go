package insight

import (
	"context"
	"time"

	"agegate/internal/rules/billing"

	"github.com/google/uuid"
)

// Allowance returns what a tenant can still spend on live sessions, as of now. It
// returns fault.NotFound for an unknown tenant.
func (s *Service) Allowance(ctx context.Context, tenantID uuid.UUID) (Allowance, error) {
	a, err := s.allowance(ctx, tenantID, s.now())
	if err != nil {
		return Allowance{}, err
	}
	return *a, nil
}

// Month sums up a tenant's ledger entries of a UTC month.
type Month struct {
	Start      time.Time
	FreeUsed   int64 // checks that completed on the free allowance
	CreditUsed int64 // checks that completed on prepaid credit
	Added      int64 // units of credit
}

// Months returns the sums of the last n months including the current one, newest first, without months before the
// tenant was created. It returns fault.NotFound for an unknown tenant.
func (s *Service) Months(ctx context.Context, tenantID uuid.UUID, n int) ([]Month, error) {
	t, err := s.store.TenantByID(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	now, created := s.now().UTC(), t.CreatedAt.UTC()
	var months []Month
	for i := range n {
		first := time.Date(now.Year(), now.Month()-time.Month(i), 1, 0, 0, 0, 0, time.UTC)
		months = append(months, Month{Start: first})
		if !first.After(created) {
			break
		}
	}
	days, err := s.Ledger(ctx, tenantID, months[len(months)-1].Start)
	if err != nil {
		return nil, err
	}
	for _, d := range days {
		on := start(d.Day, day)
		// An entry by a replica whose clock is ahead counts in the newest month.
		i := max(0, (now.Year()-on.Year())*12+int(now.Month()-on.Month()))
		if i < len(months) {
			months[i].add(d)
		}
	}
	return months, nil
}

func (m *Month) add(d LedgerDay) {
	switch {
	case d.Kind == billing.EntryTopUp:
		m.Added += d.Delta
	case d.Kind == billing.EntrySettle && d.Source == billing.SourceFree:
		m.FreeUsed += d.N
	case d.Kind == billing.EntrySettle:
		m.CreditUsed += d.N
	}
}
