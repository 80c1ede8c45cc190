package security

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/billing/billingtest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// side is one replica, as its pages and camera streams use it.
type side struct {
	sessions  *session.Service
	handovers *session.Handovers
}

func sideOf(g *gatewaytest.Gateway) side {
	return side{g.App.Sessions, session.NewHandovers(g.App.Sessions, g.App.Store)}
}

// TestVerdictsOnOldRows submits verdicts from streams that opened before
// something else happened to the session, elsewhere or at the same moment. SQLite
// has one server, whose streams are the two sides.
func TestVerdictsOnOldRows(t *testing.T) {
	table.Beside(t)
	const settings = "AGEGATE_FREE_CHECKS_PER_MONTH=-1"
	t.Run("sqlite", func(t *testing.T) {
		g := gatewaytest.Start(t, gatewaytest.SQLite(t), settings)
		verdictsOnOldRows(t, g, [2]side{sideOf(g), sideOf(g)}, table.New(t, "Verdicts on rows read earlier, SQLite"))
	})
	t.Run("postgres", func(t *testing.T) {
		database := pgtest.URL(t)
		key := "AGEGATE_SECRET_KEY=" + strings.Repeat("A", 43) + "="
		g, other := gatewaytest.Start(t, database, settings, key), gatewaytest.Start(t, database, settings, key)
		verdictsOnOldRows(t, g, [2]side{sideOf(g), sideOf(other)},
			table.New(t, "Verdicts on rows read earlier, two replicas"))
	})
}

// shopper is a session that its browser has begun and consented to, with a phone
// that has accepted its handover, as a stream read it when it opened.
type shopper struct {
	view  session.Session
	phone session.Claim
}

const (
	browserCookie = "cookie of the browser"
	phoneCookie   = "cookie of the phone"
)

func newShopper(t *testing.T, g *gatewaytest.Gateway, key string, at side) shopper {
	t.Helper()
	link := g.Path(g.Create(t, key, 18).VerificationURL)
	s, err := at.sessions.ByLink(t.Context(), link[strings.LastIndex(link, "/")+1:])
	_, bindErr := at.sessions.Bind(t.Context(), s, browserCookie)
	consentErr := at.sessions.Consent(t.Context(), s, true)
	handOverErr := at.handovers.Offer(t.Context(), s, browserCookie)
	offer, offerErr := at.handovers.Offered(t.Context(), s, browserCookie)
	_, takeErr := at.handovers.Take(t.Context(), s, offer.Token, phoneCookie)
	view, viewErr := at.sessions.ByLink(t.Context(), link[strings.LastIndex(link, "/")+1:])
	if err := errors.Join(err, bindErr, consentErr, handOverErr, offerErr, takeErr, viewErr); err != nil {
		t.Fatal(err)
	}
	return shopper{view, session.PhoneClaim(offer.Token, phoneCookie)}
}

// found returns a result of the camera.
func found(result session.Result, by session.Claim) session.CheckResult {
	years := map[session.Result]float64{session.ResultVerified: 40.5, session.ResultFallback: 15.5}[result]
	return session.CheckResult{Result: result, Source: session.SourceCamera, Estimate: &years, Claim: by}
}

func verdictsOnOldRows(t *testing.T, g *gatewaytest.Gateway, sides [2]side, r *table.Row) {
	shop := g.Shop(t, "", consenting)
	sessions := table.Sized(200, 10)
	r.Didf("%d sessions of each kind", sessions)
	var all []shopper
	newcomer := func() shopper {
		s := newShopper(t, g, shop.Live.APIKey, sides[0])
		all = append(all, s)
		return s
	}
	var passed, struck, phones, lost, kept, double []string
	for range sessions {
		// One side offers the document check; then a pass and strikes come from
		// the other.
		s := newcomer()
		_, err := sides[0].sessions.Resolve(t.Context(), s.view, found(session.ResultFallback, session.Claim{}))
		noteUnless(&lost, s, err == nil)
		after, err := sides[1].sessions.Resolve(t.Context(), s.view, found(session.ResultVerified, session.Claim{}))
		noteUnless(&passed, s, errors.Is(err, session.ErrLate) && after.DocumentOpen())
		for range session.MaxStrikes {
			after, err = sides[1].sessions.Strike(t.Context(), s.view, session.Claim{})
			noteUnless(&struck, s, errors.Is(err, session.ErrLate) && after.DocumentOpen() && after.Strikes == 0)
		}
		// Consent is withdrawn after the stream opened.
		s = newcomer()
		withdrawn := sides[1].sessions.Consent(t.Context(), s.view, false)
		after, err = sides[0].sessions.Resolve(t.Context(), s.view, found(session.ResultVerified, session.Claim{}))
		noteUnless(&lost, s, withdrawn == nil && err == nil && after.Status == session.StatusPassed)
		noteUnless(&kept, s, after.DetectedAge == nil)
		// The phone's code is replaced.
		s = newcomer()
		replaced := sides[1].handovers.Offer(t.Context(), s.view, browserCookie)
		_, started := sides[0].sessions.StartAttempt(t.Context(), s.view, s.phone)
		_, strike := sides[0].sessions.Strike(t.Context(), s.view, s.phone)
		after, err = sides[0].sessions.Resolve(t.Context(), s.view, found(session.ResultVerified, s.phone))
		refused := errors.Is(started, session.ErrLate) && errors.Is(strike, session.ErrLate) &&
			errors.Is(err, session.ErrLate)
		noteUnless(&phones, s, replaced == nil && refused && after.Status == session.StatusPending &&
			after.Attempts+after.Strikes == 0)

		double = append(double, race(t, sides, newcomer())...)
	}
	r.None("passed with the document check open", passed)
	r.None("struck with the document check open", struck)
	r.None("verdicts lost", lost)
	r.None("estimates kept without consent", kept)
	r.None("phones that acted after their code was replaced", phones)
	r.None("races with another count of camera verdicts than one", double)
	r.None("completions that the ledger does not show", unbalanced(t, g, shop, all))
	r.None("errors in the log", linesWith(g.Log.String(), "level=ERROR"))
}

func noteUnless(found *[]string, s shopper, fine bool) {
	if !fine {
		*found = append(*found, "session "+s.view.ID.String())
	}
}

// race lets both sides report results at the same time, while consent is
// withdrawn and the phone's code replaced. Exactly one of the camera's results
// may apply.
func race(t *testing.T, sides [2]side, s shopper) (double []string) {
	t.Helper()
	var mu sync.Mutex
	var applied []session.Session
	note := func(after session.Session, err error, verdict bool) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil && verdict:
			applied = append(applied, after)
		case err != nil && !errors.Is(err, session.ErrLate):
			double = append(double, fmt.Sprintf("session %s: %v", s.view.ID, err))
		}
	}
	var all sync.WaitGroup
	for i, v := range []session.CheckResult{
		found(session.ResultFallback, session.Claim{}), found(session.ResultVerified, session.Claim{}),
		found(session.ResultVerified, s.phone), found(session.ResultFallback, s.phone),
	} {
		all.Go(func() {
			after, err := sides[i%2].sessions.Resolve(t.Context(), s.view, v)
			note(after, err, true)
		})
	}
	for i := range session.MaxStrikes {
		all.Go(func() {
			after, err := sides[i%2].sessions.Strike(t.Context(), s.view, session.Claim{})
			note(after, err, after.Status == session.StatusSpoof)
		})
	}
	all.Go(func() { note(session.Session{}, sides[1].sessions.Consent(t.Context(), s.view, false), false) })
	all.Go(func() { note(session.Session{}, sides[0].handovers.Offer(t.Context(), s.view, browserCookie), false) })
	all.Wait()
	if len(applied) != 1 {
		double = append(double, fmt.Sprintf("session %s: %d", s.view.ID, len(applied)))
	}
	return double
}

// unbalanced reports a shop whose ledger has settled another number of units than
// sessions it has completed.
func unbalanced(t *testing.T, g *gatewaytest.Gateway, shop tenant.Credentials, all []shopper) []string {
	t.Helper()
	settled, completed := 0, 0
	for e, err := range billingtest.Ledger(t.Context(), g.App.Store, shop.Tenant.ID) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == billing.EntrySettle {
			settled++
		}
	}
	for _, s := range all {
		row, err := g.App.Store.SessionByID(t.Context(), shop.Tenant.ID, s.view.ID)
		if err != nil {
			t.Fatal(err)
		}
		if row.CompletedAt != nil {
			completed++
		}
	}
	if settled == completed {
		return nil
	}
	return []string{fmt.Sprintf("%d units settled, %d sessions completed", settled, completed)}
}
