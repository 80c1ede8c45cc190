package mail

import (
	"context"

	"agegate/internal/rules/credential"
)

// ResealStore holds the mails whose seal changes with the secret key.
type ResealStore interface {
	// WaitingMails returns the mails that are still to be sent.
	WaitingMails(ctx context.Context) ([]Mail, error)
	// ReplaceSealedMail replaces the sealed content of a mail. It reports false if the
	// mail was sent or given up meanwhile.
	ReplaceSealedMail(ctx context.Context, m Mail, next []byte) (bool, error)
}

// Reseal seals every mail that waits under the sealer's first key. It can be stopped
// and run again at any time. A mail that no key of the sealer opens is not changed.
func Reseal(ctx context.Context, store ResealStore, sealer *credential.Sealer) (done credential.Resealing, err error) {
	waiting, err := store.WaitingMails(ctx)
	if err != nil {
		return done, err
	}
	for _, m := range waiting {
		if err := done.Replace(sealer, m.Sealed, sealedAs(m.ID), func(next []byte) (bool, error) {
			return store.ReplaceSealedMail(ctx, m, next)
		}); err != nil {
			return done, err
		}
	}
	return done, nil
}
