package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/check/document"
	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/trustlist/trustlisttest"
	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// trustLists is the service over a store, with a list that it fetches and a clock.
type trustLists struct {
	*document.Lists

	t         *testing.T
	store     Store
	publisher trustlisttest.Publisher
	served    atomic.Pointer[[]byte] // nil: the server is down
	fetched   atomic.Int32
	now       time.Time
}

var listStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var errServerDown = errors.New("the list cannot be fetched")

func newTrustLists(t *testing.T, s Store) *trustLists {
	t.Helper()
	l := &trustLists{t: t, store: s, publisher: trustlisttest.NewPublisher("Publisher"), now: listStart}
	l.Lists = document.NewLists(s, tenant.CallbackRule{}, func(context.Context, string) ([]byte, error) {
		l.fetched.Add(1)
		if raw := l.served.Load(); raw != nil {
			return *raw, nil
		}
		return nil, errServerDown
	}, func() time.Time { return l.now })
	return l
}

func (l *trustLists) add(name string) document.TrustList {
	l.t.Helper()
	list, err := l.Add(l.t.Context(), audit.System("test"), document.NewList{
		Name: name, Format: trustlist.FormatAV, URL: "https://lists.example/av.xml", PEM: l.publisher.PEM(),
	})
	wantNoError(l.t, err)
	return list
}

// publish serves a list that ends after some days.
func (l *trustLists) publish(sequence, days int, services ...trustlisttest.Service) {
	raw := l.publisher.SignXML(trustlisttest.XML{Sequence: sequence, Issued: l.now, Next: l.now.AddDate(0, 0, days),
		Services: services})
	l.served.Store(&raw)
}

// sync synchronises a list, which must be refused for the reason, or accepted for
// an empty one.
func (l *trustLists) sync(id uuid.UUID, want trustlist.Reason) document.Synced {
	l.t.Helper()
	synced, err := l.Sync(l.t.Context(), audit.System("test"), id)
	if trustlist.ReasonOf(err) != want || want == "" && err != nil {
		l.t.Errorf("%v, want %q", err, want)
	}
	return synced
}

// wantIssuers compares the names of the trusted issuers.
func (l *trustLists) wantIssuers(want ...string) {
	l.t.Helper()
	issuers, err := l.store.Issuers(l.t.Context())
	wantNoError(l.t, err)
	var names []string
	for _, i := range issuers {
		names = append(names, i.Name)
		if i.DocType != wallet.DocTypeProofOfAge || i.List.Name != "AV" {
			l.t.Errorf("%+v", i)
		}
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		l.t.Errorf("issuers %q, want %q", names, want)
	}
}

// acts returns the entries of the audit log, oldest first, as "action name status".
func (l *trustLists) acts() (acts []string) {
	l.t.Helper()
	entries, err := l.store.AuditEntries(l.t.Context(), audit.Filter{Scope: audit.Instance, Limit: audit.MaxPage})
	wantNoError(l.t, err)
	for _, e := range slices.Backward(entries) {
		params := e.Details().Params
		acts = append(acts, fmt.Sprintf("%s %s%s", e.Action, params["name"], params["status"]))
	}
	return acts
}

func service(name string) trustlisttest.Service {
	return trustlisttest.Service{Provider: name, Certificate: trustlisttest.NewIssuer(name)}
}

// TestTrustListSync: a list's issuers follow the list, and each change is in the
// audit log once.
func TestTrustListSync(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		l := newTrustLists(t, s)
		list := l.add("AV")
		a, b, c := service("A"), service("B"), service("C")

		l.publish(1, 30, a, b)
		if got := l.sync(list.ID, ""); got.Added != 2 || got.Issuers != 2 || got.List.Sequence != 1 {
			t.Errorf("%+v", got)
		}
		l.wantIssuers("A", "B")
		if got := l.sync(list.ID, ""); got.Added != 0 || got.Removed != 0 {
			t.Errorf("the same list again: %+v", got)
		}
		l.now = l.now.Add(time.Hour)
		ended := b
		ended.Status = "http://ec.europa.eu/tools/lotl/av/TrstSvc/TrustedList/Svcstatus/deprecated"
		l.publish(2, 30, ended, c)
		l.sync(list.ID, "")
		l.wantIssuers("C")

		want := []string{
			"trust_list.add AV",
			"trusted_issuer.add A", "trusted_issuer.add B", "trust_list.update AV",
			"trusted_issuer.add C", "trusted_issuer.remove Anot listed", "trusted_issuer.remove Bdeprecated",
			"trust_list.update AV",
		}
		if got := l.acts(); !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
		wantNoError(t, l.Remove(t.Context(), audit.System("test"), list.ID))
		l.wantIssuers()
		want = append(want, "trusted_issuer.remove Clist removed", "trust_list.remove AV")
		if got := l.acts(); !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
		wantCode(t, "removing it twice", l.Remove(t.Context(), audit.System("test"), list.ID), fault.NotFound)
		_, err := l.Sync(t.Context(), audit.System("test"), list.ID)
		wantCode(t, "a list that is gone", err, fault.NotFound)
	})
}

// pinning pins other certificates between the verification of a list and its use.
type pinning struct {
	Store
	pin func()
}

func (p *pinning) UpdateTrustList(
	ctx context.Context, id uuid.UUID, fn func(*document.TrustList, []document.TrustedIssuer) (document.ListChange, error),
) error {
	p.pin()
	return p.Store.UpdateTrustList(ctx, id, fn)
}

// TestTrustListPinnedMeanwhile: a list that was verified by certificates which are
// no longer pinned is not used.
func TestTrustListPinnedMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		l := newTrustLists(t, s)
		list := l.add("AV")
		other := trustlisttest.NewPublisher("Other")
		late := document.NewLists(&pinning{s, func() {
			wantNoError(t, l.Pin(t.Context(), audit.System("test"), list.ID, other.PEM()))
		}}, tenant.CallbackRule{}, nil, func() time.Time { return l.now })
		l.publish(1, 30, service("A"))
		if _, err := late.Import(t.Context(), audit.System("test"), list.ID,
			*l.served.Load()); fault.CodeOf(err) != fault.Conflict {
			t.Errorf("the list is used: %v", err)
		}
		l.wantIssuers()
	})
}

// TestTrustListRefused: a list that must not be used changes nothing but the
// reason that is shown.
func TestTrustListRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		l := newTrustLists(t, s)
		list := l.add("AV")
		a, b := service("A"), service("B")
		l.publish(5, 30, a)
		l.sync(list.ID, "")
		before := l.acts()
		refused := func(when string, want trustlist.Reason) {
			t.Helper()
			l.sync(list.ID, want)
			l.wantIssuers("A")
			found, err := l.List(t.Context())
			wantNoError(t, err)
			if found[0].Failure != string(want) || found[0].Sequence != 5 || found[0].SyncedAt == nil {
				t.Errorf("%s: %+v", when, found[0])
			}
		}
		start := l.now
		l.now = start.Add(time.Hour)
		l.publish(4, 30, b)
		refused("a lower number", trustlist.ReasonSequence)
		l.publish(5, 30, b)
		refused("the same number with other content", trustlist.ReasonSequence)
		l.publish(6, 0, b)
		refused("an expired list", trustlist.ReasonExpired)
		l.now = start.Add(-time.Hour)
		l.publish(6, 30, b)
		refused("a higher number with an earlier date", trustlist.ReasonSequence)
		l.now = start.Add(2 * time.Hour)
		l.publisher = trustlisttest.NewPublisher("Other")
		l.publish(7, 30, b)
		refused("another publisher", trustlist.ReasonSigner)
		l.served.Store(nil)
		if _, err := l.Sync(t.Context(), audit.System("test"), list.ID); !errors.Is(err, errServerDown) {
			t.Error(err)
		}
		l.wantIssuers("A")
		if got := l.acts(); !slices.Equal(got, before) {
			t.Errorf("a refused list wrote %q", got[len(before):])
		}
		wantNoError(t, l.Pin(t.Context(), audit.System("test"), list.ID, l.publisher.PEM()))
		l.wantIssuers("A")
		l.publish(7, 30, b)
		l.sync(list.ID, "")
		l.wantIssuers("B")
	})
}

// TestTrustListSyncedTwice: replicas that synchronise at the same time change the
// trust and write the entries once.
func TestTrustListSyncedTwice(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		l := newTrustLists(t, s)
		list := l.add("AV")
		l.publish(1, 30, service("A"), service("B"))
		var replicas sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			replicas.Go(func() { _, errs[i] = l.Sync(t.Context(), audit.System("test"), list.ID) })
		}
		replicas.Wait()
		wantNoError(t, errors.Join(errs...))
		l.wantIssuers("A", "B")
		want := []string{"trust_list.add AV", "trusted_issuer.add A", "trusted_issuer.add B", "trust_list.update AV"}
		if got := l.acts(); !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
	})
}

// TestTrustListDue: a list that is due is fetched by one replica, then again hours
// later, and sooner after a failure.
func TestTrustListDue(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		l := newTrustLists(t, s)
		l.add("AV")
		_, err := l.Add(t.Context(), audit.System("test"),
			document.NewList{Name: "From files", Format: trustlist.FormatAV, PEM: l.publisher.PEM()})
		wantNoError(t, err)
		l.publish(1, 30, service("A"))
		due := func(when string, fetched int32) {
			t.Helper()
			var replicas sync.WaitGroup
			for range 4 {
				replicas.Go(func() { _ = l.SyncDue(t.Context()) })
			}
			replicas.Wait()
			if got := l.fetched.Swap(0); got != fetched {
				t.Errorf("%s: fetched %d times, want %d", when, got, fetched)
			}
		}
		due("at first", 1)
		l.wantIssuers("A")
		due("at once", 0)
		l.now = l.now.Add(4 * time.Hour)
		due("after four hours", 0)
		l.now = l.now.Add(4 * time.Hour)
		l.served.Store(nil)
		due("after eight", 1)
		due("after a failure", 0)
		l.now = l.now.Add(40 * time.Minute)
		due("later", 1)
		if err := l.SyncDue(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestTrustListAdd: what a list may be.
func TestTrustListAdd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		l := newTrustLists(t, s)
		good := document.NewList{Name: "AV", Format: trustlist.FormatAV, URL: "https://lists.example/av.xml",
			PEM: l.publisher.PEM()}
		add := func(change func(*document.NewList)) error {
			n := good
			change(&n)
			_, err := l.Add(t.Context(), audit.System("test"), n)
			return err
		}
		wantNoError(t, add(func(*document.NewList) {}))
		wantCode(t, "the name again", add(func(*document.NewList) {}), fault.Conflict)
		for name, change := range map[string]func(*document.NewList){
			"no name":             func(n *document.NewList) { n.Name = " " },
			"http":                func(n *document.NewList) { n.URL = "http://lists.example/av.xml" },
			"a password":          func(n *document.NewList) { n.URL = "https://a:b@lists.example/" },
			"no signer":           func(n *document.NewList) { n.PEM = nil },
			"a weak signer":       func(n *document.NewList) { n.PEM = trustlisttest.NewRSAPublisher("Weak", 1024).PEM() },
			"entities of no kind": func(n *document.NewList) { n.Format, n.ListType = trustlist.FormatLoTE, "urn:list" },
			"entities of no type": func(n *document.NewList) { n.Format, n.DocType = trustlist.FormatLoTE, wallet.DocTypeMDL },
		} {
			wantCode(t, name, add(change), fault.Invalid)
		}
	})
}

// TestTrustListWithoutNumbers: a VICAL may have no number; then a later date
// replaces an earlier one. Each certificate counts for the kinds of documents that
// the gateway knows.
func TestTrustListWithoutNumbers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		l := newTrustLists(t, s)
		iaca := trustlisttest.NewIssuer("IACA")
		vical := func(date time.Time, authority string) []byte {
			return l.publisher.SignVICAL(trustlisttest.VICAL{Date: date, Entries: []trustlisttest.VICALEntry{
				{Certificate: iaca, Authority: authority,
					DocTypes: []string{wallet.DocTypeMDL, wallet.DocTypePhotoID, "org.example.other"}},
			}})
		}
		apply := func(when string, raw []byte, want trustlist.Reason) (synced document.Synced) {
			t.Helper()
			synced, err := l.ImportVICAL(t.Context(), audit.System("test"), "VICAL", l.publisher.PEM(), raw)
			if trustlist.ReasonOf(err) != want || want == "" && err != nil {
				t.Errorf("%s: %v, want %q", when, err, want)
			}
			return synced
		}
		apply("an expired one", vical(l.now.Add(-trustlist.VICALLife), "A"), trustlist.ReasonExpired)
		if lists, err := l.List(t.Context()); err != nil || len(lists) > 0 {
			t.Errorf("a refused VICAL added %+v, %v", lists, err)
		}
		if got := apply("the first", vical(l.now, "A"), ""); got.Added != 2 {
			t.Errorf("%+v", got)
		}
		if got := apply("a later one", vical(l.now.Add(time.Minute), "A"), ""); got.Added+got.Removed != 0 ||
			got.Issuers != 2 {
			t.Errorf("%+v", got)
		}
		apply("an earlier one", vical(l.now, "A"), trustlist.ReasonSequence)
		apply("another one of the same date", vical(l.now.Add(time.Minute), "B"), trustlist.ReasonSequence)
		issuers, err := s.Issuers(t.Context())
		wantNoError(t, err)
		usages := map[string]string{}
		for _, i := range issuers {
			usages[i.DocType] = i.SignerUsage
		}
		if want := map[string]string{wallet.DocTypeMDL: wallet.UsageMDL.String(),
			wallet.DocTypePhotoID: ""}; !maps.Equal(usages, want) {
			t.Errorf("%v, want %v", usages, want)
		}
	})
}
