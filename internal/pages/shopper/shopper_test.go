package shopper

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/check/document"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// fixture is the pages over a real SQLite database and a clock that tests set.
type fixture struct {
	t        testing.TB
	db       *store.Store
	sealer   *credential.Sealer
	pages    *Pages
	sessions *session.Service
	tenants  *tenant.Service
	network  pipes // nil for one with sockets
	server   *httptest.Server
	tenant   tenant.Tenant
	time     *clock                                                        // shared by the replicas
	photos   func(sess session.Session, assisted bool) document.PhotoCheck // nil turns the way off
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (f *fixture) clock() time.Time {
	f.time.mu.Lock()
	defer f.time.mu.Unlock()
	return f.time.now
}

func (f *fixture) advance(d time.Duration) {
	f.time.mu.Lock()
	defer f.time.mu.Unlock()
	f.time.now = f.time.now.Add(d)
}

// newFixture starts the pages for one tenant. If capture is nil, the estimator is
// off.
func newFixture(
	t testing.TB, settings tenant.Tenant, capture func(sess session.Session, assisted bool) Capture,
) *fixture {
	t.Helper()
	f := &fixture{t: t, time: &clock{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}}
	if _, ok := t.(ownTime); ok {
		f.network = pipes{}
	}
	var err error
	f.db = dbtest.Open(t, dbtest.SQLite(t))
	f.sealer, err = credential.NewSealer(make([]byte, 32), rand.Reader)
	must(t, err)
	f.tenants = tenant.NewService(f.db, f.sealer, tenant.CallbackRule{}, rand.Reader, f.clock)
	settings.Name = "Corner Shop"
	settings.SuccessURL, settings.CancelURL = "https://shop.example/done?order=7", "https://shop.example/cart"
	created, err := f.tenants.Create(t.Context(), audit.System("test"), settings)
	must(t, err)
	f.tenant = created.Tenant
	f.serve(capture)
	return f
}

// replica starts the pages a second time, on the same database and clock.
func (f *fixture) replica(capture func(sess session.Session, assisted bool) Capture) *fixture {
	f.t.Helper()
	other := *f
	other.serve(capture)
	return &other
}

func (f *fixture) serve(capture func(sess session.Session, assisted bool) Capture) {
	t := f.t
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	if f.network != nil {
		must(t, server.Listener.Close())
		server.Listener = f.network.listen()
	}
	base := "http://" + server.Listener.Addr().String()
	f.sessions = session.NewService(session.Config{
		VerifyURL: base, TTL: 30 * time.Minute, TokenTTL: 10 * time.Minute,
		Limits: billing.Limits{FreeChecksPerMonth: billing.Unlimited, TestDailyCap: billing.Unlimited},
	}, f.db, f.tenants, f.sealer, rand.Reader, f.clock, func() {})
	wallets, err := document.NewWallets(f.sessions, f.db, f.sealer, document.NewStatusLists(nil, f.clock), rand.Reader,
		f.clock)
	must(t, err)
	var photos *document.Photos
	if f.photos != nil {
		photos = document.NewPhotos(f.sessions, f.photos)
	}
	var newCapture func(session.Session, tenant.Tenant, bool) Capture
	if capture != nil {
		newCapture = func(s session.Session, _ tenant.Tenant, assisted bool) Capture { return capture(s, assisted) }
	}
	f.pages, err = New(Config{
		Photos:   photos,
		Sessions: f.sessions, Tenants: f.tenants, NewCapture: newCapture, VerifyURL: base,
		Handovers: session.NewHandovers(f.sessions, f.db), Wallets: wallets,
	})
	must(t, err)
	f.pages.captures.tenure, f.pages.captures.grace = 0, 0 // tests take over and come back quickly
	e := echo.New()
	e.Pre(middleware.RemoveTrailingSlash()) // as the gateway does
	e.HTTPErrorHandler = func(err error, c echo.Context) { edge(f.pages, err, c) }
	f.pages.Register(e)
	server.Config.Handler = e
	server.Start()
	f.server = server
	t.Cleanup(server.Close)
}

// at returns the page's address on this replica.
func (f *fixture) at(link string) string { return f.server.URL + link[strings.LastIndex(link, "/v/"):] }

// edge replaces the gateway's error handler.
func edge(p *Pages, err error, c echo.Context) {
	status := http.StatusInternalServerError
	var known *echo.HTTPError
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		status = http.StatusNotFound
	case fault.CodeOf(err) == fault.TenantDisabled:
		status = http.StatusForbidden
	case errors.As(err, &known):
		status = known.Code
	}
	if !c.Response().Committed {
		p.Error(c, status, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// session creates a session and returns its verification URL.
func (f *fixture) session(livemode bool) string {
	f.t.Helper()
	created, err := f.sessions.Create(f.t.Context(), tenant.Caller{TenantID: f.tenant.ID, Livemode: livemode},
		session.CreateRequest{TargetAge: 18})
	must(f.t, err)
	return created.VerificationURL
}

// stored returns the session behind a verification URL.
func (f *fixture) stored(link string) session.Session {
	f.t.Helper()
	sess, err := f.sessions.ByLink(context.Background(), link[strings.LastIndex(link, "/")+1:])
	must(f.t, err)
	return sess
}

// browser is a client with a cookie jar that does not follow redirects.
type browser struct {
	t      testing.TB
	client *http.Client
}

func (f *fixture) browser() *browser {
	jar, err := cookiejar.New(nil)
	must(f.t, err)
	client := &http.Client{
		Jar:           jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if f.network != nil {
		client.Transport = f.network.transport()
	}
	return &browser{t: f.t, client: client}
}

// answer is a response with its body read.
type answer struct {
	*http.Response
	body string
}

func (b *browser) do(req *http.Request) answer {
	b.t.Helper()
	resp, err := b.client.Do(req)
	must(b.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(b.t, err)
	return answer{resp, string(body)}
}

func (b *browser) get(link string) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, link, nil)
	must(b.t, err)
	return b.do(req)
}

// post submits a form like the page itself.
func (b *browser) post(link string, form url.Values) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, link, strings.NewReader(form.Encode()))
	must(b.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(req)
}

// shows fails unless the answer has the status and the element with the test
// id.
func (a answer) shows(t testing.TB, status int, testID string) {
	t.Helper()
	if a.StatusCode != status {
		t.Errorf("status %d, want %d", a.StatusCode, status)
	}
	if !strings.Contains(a.body, `data-testid="`+testID+`"`) {
		t.Errorf("the page does not show %s:\n%s", testID, a.body)
	}
}

// leadsTo fails unless the answer is a redirect to the address.
func (a answer) leadsTo(t testing.TB, address string) {
	t.Helper()
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != address {
		t.Errorf("status %d to %q, want 303 to %q", a.StatusCode, a.Header.Get("Location"), address)
	}
}
