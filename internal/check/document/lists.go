package document

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// How often a list is fetched: about every listPeriod, and about listRetry after a
// failure. One of several replicas fetches a list, and has listClaim to do so.
const (
	listPeriod = 6 * time.Hour
	listRetry  = 30 * time.Minute
	listClaim  = 5 * time.Minute
)

// Limits of what operators may add.
const (
	maxLists   = 32
	maxSigners = 8
)

// Lists follows published lists of issuers. Their issuers are trusted in addition
// to those of Trust, from the next presentation on.
type Lists struct {
	store ListStore
	rule  tenant.CallbackRule
	fetch func(ctx context.Context, url string) ([]byte, error)
	now   func() time.Time
}

// NewLists returns the service. fetch must return at most trustlist.MaxBytes, in
// limited time. Its errors are shown to operators. rule decides which addresses of
// lists may be added.
func NewLists(
	store ListStore, rule tenant.CallbackRule, fetch func(ctx context.Context, url string) ([]byte, error),
	now func() time.Time,
) *Lists {
	return &Lists{store, rule, fetch, now}
}

// NewList describes a list to follow.
type NewList struct {
	Name     string
	Format   trustlist.Format
	URL      string // empty: it is imported from files
	ListType string // of a list of trusted entities
	DocType  string // of a list of trusted entities
	PEM      []byte // the certificates of which one signs the list
}

// Add follows a list. It fetches nothing. It returns fault.Invalid with the
// reason, or fault.Conflict if the name is taken.
func (s *Lists) Add(ctx context.Context, actor audit.Actor, n NewList) (TrustList, error) {
	if err := checkName(n.Name); err != nil {
		return TrustList{}, err
	}
	if n.URL != "" {
		if _, err := s.rule.Parse(n.URL); err != nil {
			return TrustList{}, fault.Wrap(err, fault.Invalid, "the address cannot be used: "+err.Error())
		}
	}
	if n.Format == trustlist.FormatAV {
		n.DocType = wallet.DocTypeProofOfAge
	}
	if n.Format == trustlist.FormatLoTE && (!slices.Contains(wallet.DocTypes(), n.DocType) || n.ListType == "") {
		return TrustList{}, fault.New(fault.Invalid,
			"a list of trusted entities needs its type, and the kind of its issuers' documents: one of "+
				strings.Join(wallet.DocTypes(), ", "))
	}
	signers, err := parseSigners(n.PEM)
	if err != nil {
		return TrustList{}, err
	}
	lists, err := s.store.TrustLists(ctx)
	if err != nil {
		return TrustList{}, err
	}
	if len(lists) >= maxLists {
		return TrustList{}, fault.New(fault.Invalid, "there are "+strconv.Itoa(maxLists)+
			" lists, and no more can be followed")
	}
	id, err := uuid.NewV7()
	if err != nil {
		return TrustList{}, err
	}
	now := s.now()
	l := TrustList{
		ID: id, Name: n.Name, Format: string(n.Format), URL: n.URL, ListType: n.ListType, DocType: n.DocType,
		Signers: signers, DueAt: now, CreatedAt: now,
	}
	fingerprint := sha256.Sum256(signers)
	err = s.store.AddTrustList(ctx, l, audit.Act{
		Scope: audit.Instance, At: now, Actor: actor, Action: audit.TrustListAdd, Target: id.String(),
		Detail: audit.Detail{Params: map[string]string{"name": l.Name, "format": l.Format,
			"signers": hex.EncodeToString(fingerprint[:])}},
	})
	if fault.CodeOf(err) == fault.Conflict {
		err = fault.New(fault.Conflict, "there is a list of this name already")
	}
	return l, err
}

// parseSigners returns certificates in PEM as DER, one after the other.
func parseSigners(text []byte) (signers []byte, err error) {
	count := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			return nil, fault.New(fault.Invalid, "a certificate of the signers cannot be read")
		}
		if credential.CheckPublicKey(certificate.PublicKey) != nil {
			return nil, fault.New(fault.Invalid, "a signer's key must be RSA of 2048 to 4096 bits, or on P-256, P-384, P-521 "+
				"or Ed25519")
		}
		signers = append(signers, certificate.Raw...)
		count++
	}
	if count == 0 || count > maxSigners {
		return nil, fault.New(fault.Invalid, "the file must hold 1 to "+strconv.Itoa(maxSigners)+" certificates in PEM")
	}
	return signers, nil
}

// Pin replaces the pinned certificates of a list. Its issuers and its number stay.
// It returns fault.Invalid with the reason, and fault.NotFound.
func (s *Lists) Pin(ctx context.Context, actor audit.Actor, id uuid.UUID, pem []byte) error {
	signers, err := parseSigners(pem)
	if err != nil {
		return err
	}
	return s.store.UpdateTrustList(ctx, id, func(l *TrustList, _ []TrustedIssuer) (ListChange, error) {
		now := s.now()
		before := sha256.Sum256(l.Signers)
		after := sha256.Sum256(signers)
		l.Signers, l.DueAt = signers, now
		return ListChange{Acts: []audit.Act{{
			Scope: audit.Instance, At: now, Actor: actor, Action: audit.TrustListUpdate, Target: id.String(),
			Detail: audit.Detail{
				Params: map[string]string{"name": l.Name},
				Changes: []audit.Change{{Setting: "signers", Old: hex.EncodeToString(before[:]),
					New: hex.EncodeToString(after[:])}},
			},
		}}}, nil
	})
}

// List returns the lists, oldest first.
func (s *Lists) List(ctx context.Context) ([]TrustList, error) { return s.store.TrustLists(ctx) }

// find returns a list, or fault.NotFound.
func (s *Lists) find(ctx context.Context, id uuid.UUID) (TrustList, error) {
	lists, err := s.store.TrustLists(ctx)
	if err != nil {
		return TrustList{}, err
	}
	at := slices.IndexFunc(lists, func(l TrustList) bool { return l.ID == id })
	if at < 0 {
		return TrustList{}, fault.New(fault.NotFound, "Not found")
	}
	return lists[at], nil
}

// Remove ends the trust in a list and all its issuers. It returns fault.NotFound
// for an unknown list.
func (s *Lists) Remove(ctx context.Context, actor audit.Actor, id uuid.UUID) error {
	return s.store.UpdateTrustList(ctx, id, func(l *TrustList, issuers []TrustedIssuer) (ListChange, error) {
		change, now := ListChange{Delete: true}, s.now()
		for _, i := range issuers {
			change.Acts = append(change.Acts, listedAct(audit.IssuerDistrust, actor, now, l.Name, i, "list removed"))
		}
		change.Acts = append(change.Acts, audit.Act{
			Scope: audit.Instance, At: now, Actor: actor, Action: audit.TrustListRemove, Target: id.String(),
			Detail: audit.Detail{Params: map[string]string{"name": l.Name}},
		})
		return change, nil
	})
}

// Synced is the result of a synchronisation.
type Synced struct {
	List                    TrustList
	Issuers, Added, Removed int
	Skipped                 int // entries that cannot be used
}

// Sync fetches a list and applies it. A list that is refused or cannot be fetched
// changes nothing but the list's Failure. Sync returns a *trustlist.RefusalError
// for a list that must not be used, and fault.NotFound.
func (s *Lists) Sync(ctx context.Context, actor audit.Actor, id uuid.UUID) (Synced, error) {
	l, err := s.find(ctx, id)
	if err != nil {
		return Synced{}, err
	}
	if l.URL == "" {
		return Synced{}, fault.New(fault.Invalid, "this list has no address: import it from a file")
	}
	raw, err := s.fetch(ctx, l.URL)
	if err != nil {
		return Synced{}, errors.Join(err, s.failed(ctx, id, err))
	}
	return s.Import(ctx, actor, id, raw)
}

// Import applies a list from a file as Sync does with a fetched one. It returns
// fault.Conflict if other certificates were pinned while the list was verified.
func (s *Lists) Import(ctx context.Context, actor audit.Actor, id uuid.UUID, raw []byte) (Synced, error) {
	read, err := s.find(ctx, id)
	if err != nil {
		return Synced{}, err
	}
	source, err := read.source()
	if err != nil {
		return Synced{}, err
	}
	parsed, err := trustlist.Parse(raw, source, s.now())
	var result Synced
	if err == nil {
		err = s.store.UpdateTrustList(ctx, id, func(l *TrustList, issuers []TrustedIssuer) (ListChange, error) {
			if !bytes.Equal(l.Signers, read.Signers) {
				return ListChange{}, fault.New(fault.Conflict, "other certificates were pinned meanwhile: try again")
			}
			change, err := s.apply(actor, l, issuers, parsed)
			result = Synced{
				List: *l, Added: len(change.Add), Removed: len(change.Remove),
				Issuers: len(issuers) + len(change.Add) - len(change.Remove), Skipped: parsed.Skipped,
			}
			return change, err
		})
	}
	if trustlist.ReasonOf(err) != "" {
		return Synced{}, errors.Join(err, s.failed(ctx, id, err))
	}
	return result, err
}

// ImportVICAL applies a VICAL from a file. The first one under a name adds the
// list, if it is accepted; later ones must be signed by the same pinned
// certificates. It returns a *trustlist.RefusalError, fault.Invalid with the
// reason, or fault.Conflict if a list of another kind or signer has the name.
func (s *Lists) ImportVICAL(ctx context.Context, actor audit.Actor, name string, pem, raw []byte) (Synced, error) {
	signers, err := parseSigners(pem)
	if err != nil {
		return Synced{}, err
	}
	lists, err := s.store.TrustLists(ctx)
	if err != nil {
		return Synced{}, err
	}
	at := slices.IndexFunc(lists, func(l TrustList) bool { return l.Name == name })
	if at >= 0 {
		if l := lists[at]; l.Format != string(trustlist.FormatVICAL) || !bytes.Equal(l.Signers, signers) {
			return Synced{}, fault.New(fault.Conflict,
				"a list of this name is of another kind, or pinned to other certificates: agegate trust source pin changes them")
		}
		return s.Import(ctx, actor, lists[at].ID, raw)
	}
	source, err := TrustList{Format: string(trustlist.FormatVICAL), Signers: signers}.source()
	if err != nil {
		return Synced{}, err
	}
	if _, err := trustlist.Parse(raw, source, s.now()); err != nil {
		return Synced{}, err
	}
	l, err := s.Add(ctx, actor, NewList{Name: name, Format: trustlist.FormatVICAL, PEM: pem})
	if err != nil {
		return Synced{}, err
	}
	return s.Import(ctx, actor, l.ID, raw)
}

// failed stores why an attempt failed. The list's issuers stay as they are.
func (s *Lists) failed(ctx context.Context, id uuid.UUID, cause error) error {
	return s.store.UpdateTrustList(ctx, id, func(l *TrustList, _ []TrustedIssuer) (ListChange, error) {
		l.Failure, l.DueAt = cause.Error(), s.now().Add(varied(listRetry))
		return ListChange{}, nil
	})
}

// varied returns a duration that differs from d by up to a fifth, so that lists and
// replicas do not stay in step.
func varied(d time.Duration) time.Duration {
	return d*4/5 + rand.N(d*2/5) //nolint:gosec // spreading load, not a secret
}

// SyncDue synchronises the lists that are due. Of several replicas, one synchronises a
// list. SyncDue returns the errors of all lists that failed, with their names.
func (s *Lists) SyncDue(ctx context.Context) error {
	lists, err := s.store.TrustLists(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, l := range lists {
		now := s.now()
		if l.URL == "" || now.Before(l.DueAt) || ctx.Err() != nil {
			continue
		}
		mine, err := s.store.ClaimTrustList(ctx, l.ID, now, now.Add(listClaim))
		if err == nil && mine {
			_, err = s.Sync(ctx, audit.System("trust sync"), l.ID)
		}
		if err != nil && fault.CodeOf(err) != fault.NotFound { // removed meanwhile
			failed = append(failed, errors.New("list "+strconv.Quote(l.Name)+": "+err.Error()))
		}
	}
	return errors.Join(failed...)
}
