// Package demo is a sample shop: pages that show what happens in the shop of
// sdk/go/example, which does with the gateway what a merchant's site does.
package demo

import (
	"cmp"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	agegate "github.com/agegate/agegate/sdk/go"
	"github.com/agegate/agegate/sdk/go/example"
)

//go:embed *.html shop.css
var files embed.FS

var pages = template.Must(template.ParseFS(files, "*.html"))

const browserCookie = "browser" // ties a browser to its orders

// testOnly says why the shop cannot verify what comes of a live key.
const testOnly = "This sample shop knows the secrets of test mode only, so it cannot verify a session of a live key."

// Credentials holds the API key and secrets of the shop's tenant.
type Credentials struct {
	APIKey         string `json:"api_key"`
	WebhookSecret  string `json:"webhook_secret"`
	RedirectSecret string `json:"redirect_secret"`
}

// Shop is the sample shop. It keeps its orders in memory.
type Shop struct {
	SessionsURL string // of the dashboard, to which each order links; empty: no link
	URL         string // its own, for success URLs that name each order; empty: the tenant's Success URL is used

	shop   *example.Shop
	secret string // for redirects
	policy string // Content-Security-Policy
	now    func() time.Time

	mu     sync.Mutex
	orders map[string]*order // by session ID
	latest map[string]string // session ID of a browser's latest order
}

// order is one purchase and the steps of its verification.
type order struct {
	browser   string // its cookie's value
	id        string // in the shop behind the pages
	Number    string
	Session   string
	TargetAge int
	VerifyURL string
	Story     []step
	Released  int                   // how often the order was released, for tests of the shop
	status    agegate.SessionStatus // with which the session ended; empty before
	Dashboard string                // where the session is in the dashboard, or empty
}

// step is one thing that happened to an order.
type step struct {
	At   time.Time
	Who  string // shop, browser, webhook or lookup
	What string
	Good bool
}

// proof is one of the three ways in which the result comes back.
type proof struct {
	Name  string
	About string
	Step  *step // the latest that came this way; nil while none has
	Never bool  // the session's result does not come this way
}

// Ended reports whether the lookup found that the session has ended.
func (o order) Ended() bool { return o.status != "" }

// Proofs returns the three ways with what has come of each.
func (o order) Proofs() []proof {
	passed, fallback := o.status == agegate.SessionStatusPassed, o.status == agegate.SessionStatusFallback
	proofs := []proof{
		{Name: "Signed redirect", About: "The browser brings a token that only the gateway can sign.",
			Never: o.Ended() && !passed},
		{Name: "Signed webhook", About: "The gateway calls the shop's backend, even if the browser is closed.",
			Never: o.Ended() && !passed && !fallback},
		{Name: "Status lookup", About: "The shop's backend asks the gateway with its API key."},
	}
	for i := range o.Story {
		if way := slices.Index([]string{"browser", "webhook", "lookup"}, o.Story[i].Who); way >= 0 {
			proofs[way].Step = &o.Story[i]
		}
	}
	return proofs
}

// Unfinished reports whether more steps may follow, so that the page reloads.
func (o order) Unfinished() bool {
	webhook := o.Proofs()[1]
	return !o.Ended() || webhook.Step == nil && !webhook.Never
}

// New returns a shop whose backend calls the gateway at baseURL and sends
// browsers to the pages at verifyURL, an origin.
func New(baseURL, verifyURL string, c Credentials, now func() time.Time) (*Shop, error) {
	behind, err := example.New(baseURL, c.APIKey, c.WebhookSecret, c.RedirectSecret)
	if err != nil {
		return nil, err
	}
	s := &Shop{shop: behind, secret: c.RedirectSecret, now: now, orders: map[string]*order{}, latest: map[string]string{},
		// Browsers apply form-action to redirects too: the form leads to the gateway.
		policy: "default-src 'none'; style-src 'self'; img-src data:; form-action 'self' " + verifyURL +
			"; base-uri 'none'; frame-ancestors 'none'"}
	behind.Ship = func(session string) { s.change(session, func(o *order) { o.Released++ }) }
	return s, nil
}

// Handler returns the shop's pages and its webhook receiver.
func (s *Shop) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { s.render(w, 200, "home.html", nil) })
	mux.HandleFunc("POST /buy", s.buy)
	mux.HandleFunc("GET /thanks", s.thanks)
	mux.HandleFunc("GET /cancelled", s.cancelled)
	mux.HandleFunc("GET /orders/{session}", s.show)
	mux.HandleFunc("GET /orders/{session}/released", s.released)
	mux.HandleFunc("POST /webhook", s.webhook)
	mux.Handle("GET /shop.css", http.FileServerFS(files))
	return http.NewCrossOriginProtection().Handler(mux)
}

// buy creates a session and sends the browser to the gateway.
func (s *Shop) buy(w http.ResponseWriter, r *http.Request) {
	age, _ := strconv.Atoi(r.PostFormValue("age"))
	number := strconv.Itoa(10_000 + mathrand.IntN(90_000)) //nolint:gosec // nobody gains by guessing it
	request := agegate.CreateSessionRequest{TargetAge: cmp.Or(age, 18)}
	if s.URL != "" {
		request.SuccessURL = s.URL + "/thanks?order=" + number // by which the dashboard finds the order
	}
	id, created, err := s.shop.Order(r.Context(), request)
	if err != nil {
		text := "The gateway cannot be reached."
		if refused, ok := errors.AsType[*agegate.Error](err); ok {
			text = fmt.Sprintf("The gateway did not create a session: it answered %d %s. %s", refused.Status,
				http.StatusText(refused.Status), refused.Detail) // the fields and types, never a value
			if strings.Contains(refused.Detail, "value_error at body.success_url") {
				text += ". This shop's address is no longer registered under Settings."
			}
		}
		s.render(w, http.StatusBadGateway, "problem.html", text)
		return
	}
	browser := cmp.Or(browserOf(r), rand.Text())
	s.mu.Lock()
	s.latest[browser] = created.SessionID
	s.orders[created.SessionID] = &order{browser: browser, id: id, Number: number, Session: created.SessionID,
		TargetAge: request.TargetAge, VerifyURL: created.VerificationURL}
	s.mu.Unlock()
	s.record(created.SessionID, "shop", "created a session over REST and sent the browser to the gateway", true)
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // the shop runs on http
		Name: browserCookie, Value: browser, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	w.Header().Set("Agegate-Session", created.SessionID) // for agegate-dev certify
	http.Redirect(w, r, created.VerificationURL, http.StatusSeeOther)
}

// browserOf returns the value of the browser's cookie, or "".
func browserOf(r *http.Request) string {
	cookie, err := r.Cookie(browserCookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// thanks is the shop's success URL. Its parameters may be forged: only the token
// proves the result. A verified pass of a session that this shop did not create, such as
// one created by hand with curl, is shown and sells nothing.
func (s *Shop) thanks(w http.ResponseWriter, r *http.Request) {
	session := r.URL.Query().Get("session")
	o, known := s.snapshot(session)
	switch {
	case !known && agegate.VerifyRedirect(r.URL.RawQuery, session, s.secret) == nil:
		s.render(w, http.StatusOK, "elsewhere.html", o)
		return
	case !known:
		s.render(w, http.StatusBadRequest, "problem.html", "This is not an order of this shop. "+testOnly)
		return
	case o.browser != browserOf(r):
		s.render(w, http.StatusBadRequest, "problem.html", "This is not an order of this browser.")
		return
	}
	if err := s.shop.Returned(o.id, r.URL.RawQuery); err != nil {
		s.record(session, "browser", "came back, and the redirect was refused: "+err.Error(), false)
	} else {
		s.record(session, "browser", "came back with a redirect token that verifies: VERIFIED", true)
	}
	http.Redirect(w, r, "/orders/"+o.Session, http.StatusSeeOther)
}

// cancelled is the shop's cancel URL. It contains nothing about the session, so
// the shop's cookie identifies the browser's latest order.
func (s *Shop) cancelled(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	session := s.latest[browserOf(r)]
	s.mu.Unlock()
	if session != "" {
		http.Redirect(w, r, "/orders/"+session, http.StatusSeeOther)
		return
	}
	s.render(w, http.StatusOK, "cancelled.html", nil)
}

// show shows the steps so far and asks the gateway for the status, the third way
// to learn the result. Another browser that knows the address sees nothing.
func (s *Shop) show(w http.ResponseWriter, r *http.Request) {
	o, known := s.snapshot(r.PathValue("session"))
	if !known || o.browser != browserOf(r) {
		s.render(w, http.StatusNotFound, "problem.html", "This is not an order of this browser.")
		return
	}
	if !o.Ended() {
		found, err := s.shop.Gateway.GetSessionStatus(r.Context(), o.Session)
		if err == nil && found.Status != agegate.SessionStatusPending {
			passed := found.Status == agegate.SessionStatusPassed
			if passed {
				s.shop.Release(o.Session)
			}
			s.record(o.Session, "lookup", "status lookup says "+string(found.Status), passed)
			s.change(o.Session, func(o *order) { o.status = found.Status })
		}
		o, _ = s.snapshot(o.Session)
	}
	s.render(w, http.StatusOK, "order.html", o)
}

// released answers how often an order was released. It does not ask the gateway,
// so that a test of the shop sees the effect of a redirect or webhook alone.
func (s *Shop) released(w http.ResponseWriter, r *http.Request) {
	o, known := s.snapshot(r.PathValue("session"))
	if !known || o.browser != browserOf(r) {
		http.Error(w, "not an order of this browser", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = fmt.Fprintf(w, `{"released":%d}`, o.Released) // only the connection can fail
}

// webhook is the shop's webhook receiver.
func (s *Shop) webhook(w http.ResponseWriter, r *http.Request) {
	event, err := s.shop.Notified(w, r)
	if err != nil {
		http.Error(w, "The signature does not verify. "+testOnly, http.StatusUnauthorized)
		return
	}
	s.record(event.SessionID, "webhook", "a signed webhook arrived: "+string(event.Status),
		event.Status == agegate.ResultStatusVerified && event.IsAdult)
}

// record adds a step to an order.
func (s *Shop) record(session, who, what string, good bool) {
	s.change(session, func(o *order) { o.Story = append(o.Story, step{s.now(), who, what, good}) })
}

// change changes an order, if there is one.
func (s *Shop) change(session string, do func(*order)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.orders[session]; o != nil {
		do(o)
	}
}

// snapshot returns a copy of a session's order, and whether there is one.
func (s *Shop) snapshot(session string) (order, bool) {
	o := order{Session: session}
	s.change(session, func(kept *order) {
		o = *kept
		o.Story = slices.Clone(kept.Story)
	})
	if s.SessionsURL != "" {
		o.Dashboard = s.SessionsURL + "/" + session
	}
	return o, o.id != ""
}

func (s *Shop) render(w http.ResponseWriter, status int, page string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", s.policy)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// Only the connection can fail here.
	_ = pages.ExecuteTemplate(w, page, data)
}
