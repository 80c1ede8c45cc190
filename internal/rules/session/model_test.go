package session_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/billing/billingtest"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"pgregory.net/rapid"
)

// TestSessionLife applies random sequences of everything that can happen to
// sessions to two replicas on one database, and compares the sessions with a
// small model. Pages and camera sockets act on rows that they read earlier, as
// real ones do.
func TestSessionLife(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		rapid.Check(t, func(t *rapid.T) {
			m := newMachine(t, db)
			t.Repeat(map[string]func(*rapid.T){
				"":               m.check,
				"create":         m.create,
				"consent":        m.consent,
				"hand over":      m.handOver,
				"take handover":  m.takeHandover,
				"open socket":    m.openSocket,
				"socket attempt": m.attempt,
				"attempt back":   m.returnAttempt,
				"socket strike":  m.strike,
				"socket verdict": m.verdict,
				"spend attempts": m.spend,
				"use up":         m.useUp,
				"trouble":        m.trouble,
				"go without":     m.goWithout,
				"prefer":         m.preferDocument,
				"force":          m.force,
				"document":       m.chooseWay,
				"document ends":  m.endDocument,
				"document fails": m.refuseDocument,
				"wallet answers": m.walletAnswers,
				"face match":     m.agree,
				"film document":  m.film,
				"wait":           m.wait,
				"look up":        m.lookUp,
				"settings":       m.settings,
				"disable":        m.disable,
				"resend":         m.resend,
			})
		})
	})
}

const (
	ttl       = 30 * time.Minute
	freeLimit = 3
	testLimit = 4
	credit    = 2
)

// browserCookie is the cookie of every session's own browser.
const browserCookie = "browser"

// model is the expected state of a session.
type model struct {
	session.Session
	link         string
	views        []session.Session // rows that pages have read
	token, phone string            // of the handover, and of the phone that accepted it; empty if there is none
	tokenEnd     time.Time
	request      []byte // the nonce of the request to a wallet; nil if there is none
	answered     bool   // a wallet's final answer is waiting
}

func (m *model) expired(now time.Time) bool {
	return m.Status == session.StatusPending && !now.Before(m.ExpiresAt)
}

func (m *model) open(now time.Time) bool {
	return m.Status == session.StatusPending && now.Before(m.ExpiresAt)
}

// socket is a camera stream of the session's own browser or of a phone. It acts
// on the row that was read when it opened.
type socket struct {
	*model
	view         session.Session
	replica      replica
	token, phone string // empty for the session's own browser
}

// entitled reports whether the socket may still act for the session.
func (s *socket) entitled() bool {
	return s.phone == "" || s.token == s.model.token && s.phone == s.model.phone
}

func (s *socket) claim() session.Claim {
	if s.phone == "" {
		return session.Claim{}
	}
	return session.PhoneClaim(s.token, s.phone)
}

// replica is one process's services.
type replica struct {
	sessions  *session.Service
	handovers *session.Handovers
}

type machine struct {
	db       *store.Store
	tenants  *tenant.Service
	replicas [2]replica
	tenant   tenant.Tenant
	now      time.Time
	models   []*model
	sockets  []*socket
	phones   int
	requests uint64
}

func newMachine(t *rapid.T, db *store.Store) *machine {
	m := &machine{db: db, now: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return m.now }
	sealer, err := credential.NewSealer(make([]byte, credential.SecretLen), rand.Reader)
	ok(t, err)
	m.tenants = tenant.NewService(db, sealer, tenant.CallbackRule{}, rand.Reader, clock)
	for i := range m.replicas {
		sessions := session.NewService(session.Config{
			VerifyURL: "https://v.example", TTL: ttl, TokenTTL: 10 * time.Minute,
			Limits: billing.Limits{FreeChecksPerMonth: freeLimit, TestDailyCap: testLimit},
		}, db, m.tenants, sealer, rand.Reader, clock, func() {})
		m.replicas[i] = replica{sessions, session.NewHandovers(sessions, db)}
	}
	created, err := m.tenants.Create(context.Background(), audit.System("test"), tenant.Tenant{
		Name: "Shop", SuccessURL: "https://s.example/", CancelURL: "https://s.example/",
		WebhookURL: "https://s.example/hook", AgeVisibility: true,
		DocumentCheck: rapid.Bool().Draw(t, "document check"),
	})
	ok(t, err)
	m.tenant = created.Tenant
	_, err = billing.TopUp(context.Background(), db, audit.System("test"), m.tenant.ID, credit, "", m.now)
	ok(t, err)
	return m
}

func ok(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// used counts the units that live sessions hold or have spent, or the test
// sessions created. One sequence stays within one day.
func (m *machine) used(livemode bool) int {
	n := 0
	for _, s := range m.models {
		if s.Livemode == livemode && (!livemode || s.Status != session.StatusExpired && !s.expired(m.now)) {
			n++
		}
	}
	return n
}

func (m *machine) create(t *rapid.T) {
	livemode := rapid.Bool().Draw(t, "live")
	caller := tenant.Caller{TenantID: m.tenant.ID, Livemode: livemode}
	at := m.replica(t).sessions
	got, err := at.Create(context.Background(), caller, session.CreateRequest{TargetAge: 18})
	switch used := m.used(livemode); {
	case livemode && used >= freeLimit+credit:
		expect(t, err, fault.InsufficientFunds)
	case !livemode && used >= testLimit:
		expect(t, err, fault.TooMany)
	default:
		ok(t, err)
		link := got.VerificationURL[len("https://v.example/v/"):]
		s, err := at.ByLink(context.Background(), link)
		ok(t, err)
		if s.Status != session.StatusPending || !s.ExpiresAt.Equal(m.now.Add(ttl)) || s.Livemode != livemode {
			t.Fatalf("created %+v", s)
		}
		bound, err := at.Bind(context.Background(), s, browserCookie)
		ok(t, err)
		if !bound {
			t.Fatal("the first browser was refused")
		}
		if s, err = at.ByLink(context.Background(), link); err != nil {
			t.Fatal(err)
		}
		m.models = append(m.models, &model{Session: s, link: link, views: []session.Session{s}})
	}
}

func expect(t *rapid.T, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Fatalf("got %v, want %s", err, code)
	}
}

// wait moves the clock. It stays within one UTC day, so that the counters'
// periods do not change.
func (m *machine) wait(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{time.Microsecond, time.Minute, ttl - time.Microsecond, ttl}).Draw(t, "time")
	if next := m.now.Add(d); next.Day() == m.now.Day() {
		m.now = next
	}
}

func (m *machine) settings(t *rapid.T) {
	document, visible := rapid.Bool().Draw(t, "document check"), rapid.Bool().Draw(t, "age visibility")
	only := rapid.IntRange(0, 3).Draw(t, "document only") == 0
	ways := rapid.SampledFrom([][]string{nil, {"wallet"}, {"photo"}}).Draw(t, "ways")
	updated, err := m.tenants.Update(context.Background(), audit.System("test"), m.tenant.ID, tenant.Changes{
		DocumentCheck: &document, DocumentOnly: &only, AgeVisibility: &visible, DocumentWays: &ways,
	})
	ok(t, err)
	m.tenant = updated
}

func (m *machine) disable(t *rapid.T) {
	// This is rare, because nothing happens while the tenant is disabled.
	m.tenant.Disabled = !m.tenant.Disabled && rapid.IntRange(0, 4).Draw(t, "disable") == 0
	ok(t, m.tenants.SetDisabled(context.Background(), audit.System("test"), m.tenant.ID, m.tenant.Disabled, ""))
}

func (m *machine) lookUp(t *rapid.T) {
	s, _ := m.pick(t)
	view, err := m.replica(t).sessions.Status(context.Background(), m.tenant.ID, s.ID)
	ok(t, err)
	if s.expired(m.now) {
		s.Status = session.StatusExpired
	}
	want := map[session.Status]*time.Time{
		session.StatusPending: &s.CreatedAt, session.StatusExpired: &s.ExpiresAt,
		session.StatusPassed: s.CompletedAt, session.StatusFallback: s.CompletedAt, session.StatusSpoof: s.CompletedAt,
	}[s.Status]
	if view.Status != s.Status || !view.At.Equal(*want) {
		t.Fatalf("lookup says %+v, want %s at %s", view, s.Status, want)
	}
}

// resend makes an event due again: the same event, under the same ID.
func (m *machine) resend(t *rapid.T) {
	s, _ := m.pick(t)
	filter := webhook.Filter{Scope: webhook.OfTenant(m.tenant.ID), Session: s.ID}
	before, err := m.db.Events(context.Background(), filter)
	ok(t, err)
	if len(before) == 0 {
		t.Skip("no event")
	}
	ok(t, webhook.NewOperations(m.db, time.Now, nil).ResendEvent(context.Background(), audit.System("test"), filter.Scope,
		before[0].ID))
	after, err := m.db.Events(context.Background(), filter)
	ok(t, err)
	if len(after) != 1 || after[0].ID != before[0].ID || string(after[0].Body) != string(before[0].Body) {
		t.Fatalf("resending made %+v of %+v", after, before)
	}
}

// check compares every row with its model, the events with the completions, and
// the ledger with the balance.
func (m *machine) check(t *rapid.T) {
	for _, s := range m.models {
		row, err := m.db.SessionByID(context.Background(), m.tenant.ID, s.ID)
		ok(t, err)
		if got, want := describe(row), describe(s.Session); got != want {
			t.Fatalf("row   %s\nmodel %s", got, want)
		}
	}
	m.checkEvents(t)
	m.checkBilling(t)
}

func (m *machine) checkEvents(t *rapid.T) {
	records, err := m.db.Events(context.Background(), webhook.Filter{Scope: webhook.OfTenant(m.tenant.ID)})
	ok(t, err)
	events := map[string]int{}
	for _, r := range records {
		events[r.SessionID.String()]++
	}
	for _, s := range m.models {
		want := 0
		if s.Status == session.StatusPassed || s.Status == session.StatusFallback {
			want = 1
		}
		if events[s.ID.String()] != want {
			t.Fatalf("a %s session has %d events", s.Status, events[s.ID.String()])
		}
	}
}

func (m *machine) checkBilling(t *rapid.T) {
	var sum int64
	settled := 0
	for e, err := range billingtest.Ledger(context.Background(), m.db, m.tenant.ID) {
		ok(t, err)
		if e.Source == billing.SourceCredit {
			sum += e.Delta
		}
		if e.Kind == billing.EntrySettle {
			settled++
		}
	}
	balance, err := m.db.Credit(context.Background(), m.tenant.ID)
	ok(t, err)
	if sum != balance || balance < 0 {
		t.Fatalf("the ledger adds up to %d, the balance is %d", sum, balance)
	}
	want := 0
	for _, s := range m.models {
		if s.Livemode && s.CompletedAt != nil {
			want++
		}
	}
	if settled != want {
		t.Fatalf("%d units are settled, %d live sessions completed", settled, want)
	}
}

func describe(s session.Session) string {
	at := func(p *time.Time) string {
		if p == nil {
			return "-"
		}
		return p.UTC().Format(time.RFC3339Nano)
	}
	years := "-"
	if s.DetectedAge != nil {
		years = fmt.Sprint(*s.DetectedAge)
	}
	why := ""
	for _, back := range s.Setbacks {
		why += back.Why + ","
	}
	return fmt.Sprintf("%s expires %s completed %s consented %s document %s age %s attempts %d strikes %d match %s "+
		"filmed %s documents %d preferred %t back %s",
		s.Status, at(&s.ExpiresAt), at(s.CompletedAt), at(s.ConsentedAt), at(s.DocumentOpenedAt), years, s.Attempts,
		s.Strikes, at(s.FaceMatchAt), s.DocumentCamera, s.DocumentAttempts, s.DocumentPreferred, why)
}
