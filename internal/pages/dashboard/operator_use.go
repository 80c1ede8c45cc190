package dashboard

import (
	"context"
	"strconv"
	"time"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/tenant"
)

const usePath = operatorPath + "/use.csv"

// downloadUse writes what each tenant used in each of its last months, by UTC. Operators of
// several shops write invoices by it.
func (p *Pages) downloadUse(r *desk.Request) error {
	name := "use-" + p.cfg.Now().UTC().Format(time.DateOnly) + ".csv"
	columns := []string{"month", "tenant_id", "tenant", "free_checks", "credit_checks", "credit_added"}
	return downloadTable(r, name, columns, func(ctx context.Context, write func([][]string) error) error {
		for found, err := range p.cfg.Tenants.All(ctx) {
			if err != nil {
				return err
			}
			for _, t := range found {
				rows, err := p.useOf(ctx, t)
				if err == nil {
					err = write(rows)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// useOf returns a tenant's rows, the newest month first.
func (p *Pages) useOf(ctx context.Context, t tenant.Tenant) (rows [][]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, desk.ReadBatch)
	defer cancel()
	months, err := p.cfg.Insight.Months(ctx, t.ID, monthsShown)
	for _, m := range months {
		rows = append(rows, []string{m.Start.Format("2006-01"), t.ID.String(), csvText(t.Name),
			strconv.FormatInt(m.FreeUsed, 10), strconv.FormatInt(m.CreditUsed, 10), strconv.FormatInt(m.Added, 10)})
	}
	return rows, err
}
