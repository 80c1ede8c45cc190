// Package demo is a sample shop: a small server that does with the gateway what a
// merchant's site does. The only part of the gateway that it uses is the client
// generated from the published contract. A published library verifies webhooks,
// and ten lines verify redirect tokens.
package demo

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"agegate/gen/client"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

//go:embed *.html shop.css
var files embed.FS

var pages = template.Must(template.ParseFS(files, "*.html"))

// browserCookie ties a browser to its orders.
const browserCookie = "browser"

// Credentials holds the API key and secrets of the shop's tenant.
type Credentials struct {
	APIKey         string `json:"api_key"`
	WebhookSecret  string `json:"webhook_secret"`
	RedirectSecret string `json:"redirect_secret"`
}

// Shop is the sample shop. It keeps its orders in memory.
type Shop struct {
	gateway  *client.ClientWithResponses
	webhooks *standardwebhooks.Webhook
	redirect []byte
	livemode bool // mode of the shop's API key
	now      func() time.Time

	// SessionsURL leads to the tenant's sessions in the dashboard, for a link to
	// each order's; empty: no link.
	SessionsURL string

	// URL is the shop's own address, for success URLs that name each order; empty: the
	// tenant's Success URL is used.
	URL string

	mu     sync.Mutex
	orders map[string]*order // by session ID
	latest map[string]string // session ID of a browser's latest order
	policy string            // Content-Security-Policy
}

// order is one purchase and the steps of its verification.
type order struct {
	browser   string // its cookie's value
	Number    string
	Session   string
	TargetAge int
	VerifyURL string
	Story     []step
	Accepted  bool
	released  int                  // how often the order was released, for tests of the shop
	notified  bool                 // the webhook has arrived
	status    client.SessionStatus // with which the session ended; empty before
	events    map[string]bool      // webhook IDs seen, to ignore repetitions
	Dashboard string               // where the session is in the dashboard, or empty
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

// redirects and notifies report whether a result comes by redirect and by webhook.
func (o order) redirects() bool { return o.status == client.SessionStatusPassed }

func (o order) notifies() bool { return o.redirects() || o.status == client.SessionStatusFallback }

// Proofs returns the three ways with what has come of each.
func (o order) Proofs() []proof {
	proofs := []proof{
		{Name: "Signed redirect", About: "The browser brings a token that only the gateway can sign.",
			Never: o.Ended() && !o.redirects()},
		{Name: "Signed webhook", About: "The gateway calls the shop's backend, even if the browser is closed.",
			Never: o.Ended() && !o.notifies()},
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
func (o order) Unfinished() bool { return !o.Ended() || o.notifies() && !o.notified }

// step is one thing that happened to an order.
type step struct {
	At   time.Time
	Who  string // shop, browser, webhook or lookup
	What string
	Good bool
}

// New returns a shop whose backend calls the gateway at baseURL and sends
// browsers to the pages at verifyURL, an origin.
func New(baseURL, verifyURL string, c Credentials, now func() time.Time) (*Shop, error) {
	gateway, err := client.NewClientWithResponses(baseURL, client.WithRequestEditorFn(
		func(_ context.Context, req *http.Request) error {
			req.Header.Set("X-API-Key", c.APIKey)
			return nil
		}), client.WithHTTPClient(&http.Client{Timeout: 10 * time.Second}))
	if err != nil {
		return nil, err
	}
	webhookKey, err := secretKey(c.WebhookSecret)
	if err != nil {
		return nil, fmt.Errorf("the webhook secret: %w", err)
	}
	webhooks, err := standardwebhooks.NewWebhookRaw(webhookKey)
	if err != nil {
		return nil, err
	}
	redirect, err := secretKey(c.RedirectSecret)
	if err != nil {
		return nil, fmt.Errorf("the redirect secret: %w", err)
	}
	return &Shop{gateway: gateway, webhooks: webhooks, redirect: redirect, now: now,
		livemode: strings.HasPrefix(c.APIKey, "svc_live_"),
		orders:   map[string]*order{}, latest: map[string]string{}, policy: contentPolicy(verifyURL)}, nil
}

// Handler returns the shop's pages and its webhook receiver.
func (s *Shop) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("POST /buy", s.buy)
	mux.HandleFunc("GET /thanks", s.thanks)
	mux.HandleFunc("GET /cancelled", s.cancelled)
	mux.HandleFunc("GET /orders/{session}", s.order)
	mux.HandleFunc("GET /orders/{session}/released", s.released)
	mux.HandleFunc("POST /webhook", s.webhook)
	mux.Handle("GET /shop.css", http.FileServerFS(files))
	return http.NewCrossOriginProtection().Handler(mux)
}

// contentPolicy allows the shop's pages to load only the shop's own style. It
// allows the form to lead to the gateway, because browsers apply form-action to
// redirects too.
func contentPolicy(verifyURL string) string {
	return "default-src 'none'; style-src 'self'; img-src data:; form-action 'self' " + verifyURL +
		"; base-uri 'none'; frame-ancestors 'none'"
}

func (s *Shop) home(w http.ResponseWriter, _ *http.Request) {
	s.render(w, http.StatusOK, "home.html", nil)
}

// buy creates a session and sends the browser to the gateway.
func (s *Shop) buy(w http.ResponseWriter, r *http.Request) {
	age, err := strconv.Atoi(r.PostFormValue("age"))
	if err != nil {
		age = 18
	}
	number := strconv.Itoa(10_000 + mathrand.IntN(90_000)) //nolint:gosec // nobody gains by guessing it
	request := client.CreateSessionRequest{TargetAge: age}
	if s.URL != "" {
		request.SuccessURL = new(s.URL + "/thanks?order=" + number) // by which the dashboard finds the order
	}
	answer, err := s.gateway.CreateSessionWithResponse(r.Context(), nil, request)
	if err != nil {
		s.render(w, http.StatusBadGateway, "problem.html", "The gateway cannot be reached.")
		return
	}
	if answer.JSON201 == nil {
		s.render(w, http.StatusBadGateway, "problem.html", "The gateway did not create a session: it answered "+
			answer.Status()+".")
		return
	}
	created := answer.JSON201
	browser := browserOf(r)
	if browser == "" {
		browser = rand.Text()
	}
	s.mu.Lock()
	s.latest[browser] = created.SessionID.String()
	s.orders[created.SessionID.String()] = &order{
		browser: browser, Number: number, Session: created.SessionID.String(), TargetAge: age,
		VerifyURL: created.VerificationURL, events: map[string]bool{},
	}
	s.mu.Unlock()
	s.record(created.SessionID.String(), step{Who: "shop",
		What: "created a session over REST and sent the browser to the gateway", Good: true})
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // the shop runs on http
		Name: browserCookie, Value: browser, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	w.Header().Set("Agegate-Session", created.SessionID.String()) // for agegate-dev certify
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

// orderOf returns an order if it belongs to this browser. Another browser that
// knows the order's address or its success URL sees and changes nothing.
func (s *Shop) orderOf(r *http.Request, session string) (order, bool) {
	o, ok := s.snapshot(session)
	if !ok || o.browser != browserOf(r) {
		return order{}, false
	}
	return o, true
}

// thanks is the shop's success URL. Its parameters may be forged: only the token
// proves the result.
func (s *Shop) thanks(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	session := q.Get("session")
	if !s.known(session) && verifyRedirect(s.redirect, q, session, s.now()) == nil {
		s.passedElsewhere(w, session)
		return
	}
	o, ok := s.orderOf(r, session)
	if !ok {
		s.render(w, http.StatusBadRequest, "problem.html", "This is not an order of this browser.")
		return
	}
	session = o.Session
	err := verifyRedirect(s.redirect, q, session, s.now())
	if err != nil {
		s.record(session, step{Who: "browser", What: "came back, and the redirect was refused: " + err.Error()})
	} else {
		s.record(session, step{Who: "browser", What: "came back with a redirect token that verifies: VERIFIED", Good: true})
	}
	http.Redirect(w, r, "/orders/"+session, http.StatusSeeOther)
}

// passedElsewhere shows a verified pass of a session that this shop did not create,
// such as one created by hand with curl. It sells nothing: there is no order.
func (s *Shop) passedElsewhere(w http.ResponseWriter, session string) {
	s.render(w, http.StatusOK, "elsewhere.html", order{Session: session, Dashboard: s.dashboard(session)})
}

// dashboard returns where a session is in the dashboard, or "".
func (s *Shop) dashboard(session string) string {
	if s.SessionsURL == "" {
		return ""
	}
	return s.SessionsURL + "/" + session
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

// order shows the steps so far and asks the gateway for the status, the third way
// to learn the result.
func (s *Shop) order(w http.ResponseWriter, r *http.Request) {
	session := r.PathValue("session")
	o, ok := s.orderOf(r, session)
	if !ok {
		s.render(w, http.StatusNotFound, "problem.html", "This is not an order of this browser.")
		return
	}
	if !o.Ended() {
		s.lookUp(r.Context(), session, &o)
	}
	o, _ = s.snapshot(session)
	o.Dashboard = s.dashboard(session)
	s.render(w, http.StatusOK, "order.html", o)
}

// released answers how often an order was released. It does not ask the gateway,
// so that a test of the shop sees the effect of a redirect or webhook alone.
func (s *Shop) released(w http.ResponseWriter, r *http.Request) {
	o, ok := s.orderOf(r, r.PathValue("session"))
	if !ok {
		http.Error(w, "not an order of this browser", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = fmt.Fprintf(w, `{"released":%d}`, o.released) // only the connection can fail
}

func (s *Shop) lookUp(ctx context.Context, session string, o *order) {
	id, err := uuid.Parse(session)
	if err != nil {
		return
	}
	answer, err := s.gateway.GetSessionStatusWithResponse(ctx, id)
	if err != nil || answer.JSON200 == nil || answer.JSON200.Status == client.SessionStatusPending {
		return
	}
	status := answer.JSON200.Status
	s.record(session, step{Who: "lookup", What: "status lookup says " + string(status),
		Good: status == client.SessionStatusPassed})
	s.mu.Lock()
	s.orders[o.Session].status = status
	s.mu.Unlock()
}

// webhook is the shop's webhook receiver: it verifies, then answers quickly.
func (s *Shop) webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil || s.webhooks.Verify(body, r.Header) != nil {
		http.Error(w, "signature does not verify", http.StatusUnauthorized)
		return
	}
	var event client.CompletionEvent
	if err := json.Unmarshal(body, &event); err != nil {
		http.Error(w, "not a completion event", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusOK)
	session := event.SessionID.String()
	if event.Livemode != s.livemode || !s.known(session) || s.seen(session, r.Header.Get("webhook-id")) {
		return
	}
	passed := event.Status == client.ResultStatusVerified && event.IsAdult
	s.record(session, step{Who: "webhook", What: "a signed webhook arrived: " + string(event.Status), Good: passed})
}

// record adds a step to an order. The first proof accepts the order: a verified
// token, a verified webhook, or a lookup with the status PASSED.
func (s *Shop) record(session string, st step) {
	st.At = s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.orders[session]
	o.Story = append(o.Story, st)
	o.notified = o.notified || st.Who == "webhook"
	if st.Good && st.Who != "shop" && !o.Accepted {
		o.Accepted = true
		o.released++
	}
}

func (s *Shop) known(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[session] != nil
}

// seen records a webhook ID and reports whether it was already known.
func (s *Shop) seen(session, event string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.orders[session]
	before := o.events[event]
	o.events[event] = true
	return before
}

func (s *Shop) snapshot(session string) (order, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.orders[session]
	if o == nil {
		return order{}, false
	}
	c := *o
	c.Story = append([]step(nil), o.Story...)
	return c, true
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
