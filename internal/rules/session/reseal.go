package session

import (
	"context"
	"time"

	"agegate/internal/rules/credential"
)

// ClaimStore is the part of a store that ResealLinks uses.
type ClaimStore interface {
	// ClaimsAfter returns at most limit claims of all tenants that expire after
	// now, ordered by tenant, mode and key hash, starting after the given one.
	ClaimsAfter(ctx context.Context, after IdempotencyClaim, now time.Time, limit int) ([]IdempotencyClaim, error)
	// ReplaceSealedLinks writes each new sealed link if the stored one is still
	// the old one, and returns how many it wrote.
	ReplaceSealedLinks(ctx context.Context, claims []ResealedClaim) (int, error)
}

// ResealedClaim is a claim and its link, sealed under another key.
type ResealedClaim struct {
	IdempotencyClaim
	Next []byte
}

// resealBatch is the maximum number of rows that one transaction changes. It is
// small, so that others do not wait long for the locks.
const resealBatch = 100

// ResealLinks seals the links of all claims under the sealer's first key and
// calls progress after each batch. A stopped run can be repeated. A link that
// none of the sealer's keys opens is counted and not changed: its claim expires
// within a day.
func ResealLinks(
	ctx context.Context, store ClaimStore, sealer *credential.Sealer, now func() time.Time,
	progress func(credential.Resealing),
) error {
	var total credential.Resealing
	last := IdempotencyClaim{KeyHash: []byte{}}
	for {
		batch, err := store.ClaimsAfter(ctx, last, now(), resealBatch)
		if err != nil || len(batch) == 0 {
			return err
		}
		var changes []ResealedClaim
		for _, claim := range batch {
			next, err := total.Next(sealer, claim.SealedLink, linkContext(claim.SessionID))
			if err != nil {
				return err
			}
			if next != nil {
				changes = append(changes, ResealedClaim{claim, next})
			}
		}
		n, err := store.ReplaceSealedLinks(ctx, changes)
		if err != nil {
			return err
		}
		total.Resealed += n
		progress(total)
		last = batch[len(batch)-1]
	}
}
