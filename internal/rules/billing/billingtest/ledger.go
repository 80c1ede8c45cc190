// Package billingtest helps tests to read the ledger.
package billingtest

import (
	"context"
	"iter"

	"agegate/internal/rules/billing"

	"github.com/google/uuid"
)

// Ledger returns all entries of a tenant, newest first, and reads them in pages. It stops at the
// first error.
func Ledger(ctx context.Context, store billing.Store, tenantID uuid.UUID) iter.Seq2[billing.Entry, error] {
	return func(yield func(billing.Entry, error) bool) {
		last := uuid.Nil
		for {
			page, err := store.Entries(ctx, tenantID, last, billing.MaxPage)
			if err != nil {
				yield(billing.Entry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				last = e.ID
			}
			if len(page) < billing.MaxPage {
				return
			}
		}
	}
}
