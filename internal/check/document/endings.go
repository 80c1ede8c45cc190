package document

import (
	"context"
	"slices"
	"time"
)

// EndingKind is a kind of thing on which wallets' checks depend and which ends.
type EndingKind string

// The kinds.
const (
	EndingList     EndingKind = "list"     // a published list: its next update
	EndingSigner   EndingKind = "signer"   // the last pinned certificate of a published list
	EndingIssuer   EndingKind = "issuer"   // an issuer's certificate
	EndingVerifier EndingKind = "verifier" // a certificate of the gateway's own key
)

// EndingSoon is how long before its end something is reported.
const EndingSoon = 14 * 24 * time.Hour

// EndingKinds returns all kinds.
func EndingKinds() []EndingKind {
	return []EndingKind{EndingList, EndingSigner, EndingIssuer, EndingVerifier}
}

// Ending is one such thing.
type Ending struct {
	Kind EndingKind
	Name string
	At   time.Time // from then on it is not used
}

// EndingStore stores what ends.
type EndingStore interface {
	// Issuers is TrustStore.Issuers.
	Issuers(ctx context.Context) ([]TrustedIssuer, error)
	// TrustLists is ListStore.TrustLists.
	TrustLists(ctx context.Context) ([]TrustList, error)
	// Verifiers is VerifierStore.Verifiers.
	Verifiers(ctx context.Context) ([]VerifierKey, error)
}

// Dependencies are what wallets' checks depend on.
type Dependencies struct {
	Endings []Ending // by time
	Failing []TrustList
	Empty   []TrustList // nothing was applied yet, and no attempt has failed
}

// DependenciesOf reads what wallets' checks depend on.
func DependenciesOf(ctx context.Context, store EndingStore) (d Dependencies, err error) {
	lists, err := store.TrustLists(ctx)
	if err != nil {
		return d, err
	}
	issuers, err := store.Issuers(ctx)
	if err != nil {
		return d, err
	}
	keys, err := store.Verifiers(ctx)
	if err != nil {
		return d, err
	}
	for _, l := range lists {
		if err := d.addList(l); err != nil {
			return d, err
		}
	}
	for _, i := range issuers {
		d.Endings = append(d.Endings, Ending{EndingIssuer, i.Name, i.NotAfter})
	}
	for _, k := range keys {
		if k.NotAfter != nil {
			d.Endings = append(d.Endings, Ending{EndingVerifier, k.Name, *k.NotAfter})
		}
	}
	slices.SortStableFunc(d.Endings, func(a, b Ending) int { return a.At.Compare(b.At) })
	return d, nil
}

func (d *Dependencies) addList(l TrustList) error {
	source, err := l.source()
	if err != nil {
		return err
	}
	var last time.Time
	for _, c := range source.Signers {
		if c.NotAfter.After(last) {
			last = c.NotAfter
		}
	}
	d.Endings = append(d.Endings, Ending{EndingSigner, l.Name, last})
	if l.NextUpdate != nil {
		d.Endings = append(d.Endings, Ending{EndingList, l.Name, *l.NextUpdate})
	}
	switch {
	case l.Failure != "":
		d.Failing = append(d.Failing, l)
	case l.SyncedAt == nil:
		d.Empty = append(d.Empty, l)
	}
	return nil
}

// Before returns what ends before a time, or has ended.
func (d Dependencies) Before(at time.Time) []Ending {
	n := slices.IndexFunc(d.Endings, func(e Ending) bool { return !e.At.Before(at) })
	if n < 0 {
		n = len(d.Endings)
	}
	return d.Endings[:n]
}
