package session

import (
	"context"
	"errors"
	"time"

	"agegate/internal/credential"
)

// ClaimStore is what ResealLinks needs of a store.
type ClaimStore interface {
	// ClaimsAfter returns at most limit claims of all tenants that expire after
	// now, in the order of tenant, mode and key hash, from the first one after
	// the given one in that order.
	ClaimsAfter(ctx context.Context, after IdempotencyClaim, now time.Time, limit int) ([]IdempotencyClaim, error)
	// ReplaceSealedLinks writes the new sealed links, each only while the old one
	// is the stored one, and returns how many it wrote.
	ReplaceSealedLinks(ctx context.Context, claims []ResealedClaim) (int, error)
}

// ResealedClaim is a claim, and its link sealed under another key.
type ResealedClaim struct {
	IdempotencyClaim
	Next []byte
}

// resealBatch is how many rows one transaction of a resealing changes: few
// enough that nobody waits long for their locks.
const resealBatch = 100

// ResealLinks seals the links of all claims under the sealer's first key and
// calls progress after each batch. It may be stopped and begun again. A link
// that opens under no key of the sealer is counted and left alone: it is of no
// use a day later anyway.
func ResealLinks(ctx context.Context, store ClaimStore, sealer *credential.Sealer, now func() time.Time, progress func(credential.Resealing)) error {
	var total credential.Resealing
	last := IdempotencyClaim{KeyHash: []byte{}}
	for {
		batch, err := store.ClaimsAfter(ctx, last, now(), resealBatch)
		if err != nil || len(batch) == 0 {
			return err
		}
		var changes []ResealedClaim
		for _, claim := range batch {
			switch next, err := sealer.Reseal(claim.SealedLink, linkContext(claim.SessionID)); {
			case errors.Is(err, credential.ErrSealed):
				total.Unopened++
			case err != nil:
				return err
			case next == nil:
				total.Already++
			default:
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
