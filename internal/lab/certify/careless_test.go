package certify_test

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/lab/verify"
	"agegate/internal/rules/tenant"
)

// carelessShop is a shop with one mistake, named after the case that must find
// it.
type carelessShop struct {
	mistake  string
	gateway  string // its address
	secrets  tenant.ModeSecrets
	webhook  []byte
	redirect []byte
	now      func() time.Time

	small  atomic.Bool // the last delivery had names of headers in small letters
	mu     sync.Mutex
	orders map[string]*carelessOrder // by session
	seen   map[string]bool           // webhook IDs
	latest time.Time                 // of the events
}

type carelessOrder struct {
	browser  string
	passed   string // what the first lookup said
	released int
	by       map[string]bool // the ways that have released it
}

const (
	orderCookie   = "order"
	sessionCookie = "session" // of the same order
	browserCookie = "browser"
	canary        = "cAnArY7f3" // appears in every answer
)

func (s *carelessShop) use(t *testing.T, c tenant.ModeSecrets) {
	t.Helper()
	var err error
	if s.webhook, err = verify.Secret(c.WebhookSecret); err != nil {
		t.Fatal(err)
	}
	if s.redirect, err = verify.Secret(c.RedirectSecret); err != nil {
		t.Fatal(err)
	}
	s.secrets = c
	s.orders = map[string]*carelessOrder{}
	s.seen = map[string]bool{}
}

// makes reports whether the shop makes one of these mistakes.
func (s *carelessShop) makes(mistakes ...string) bool { return slices.Contains(mistakes, s.mistake) }

func (s *carelessShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch id := strings.TrimPrefix(r.URL.Path, "/orders/"); {
	case r.URL.Path == "/buy":
		s.buy(w, r)
		return
	case r.URL.Path == "/thanks":
		s.thanks(r)
	case r.URL.Path == "/cancelled":
		if own, err := r.Cookie(orderCookie); err == nil && s.mistake == "redirect.cancelled" {
			s.release(own.Value, "redirect", true)
		}
	case r.URL.Path == "/webhook":
		w.WriteHeader(s.receive(r))
	case strings.HasSuffix(id, "/released"):
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{"released": s.orders[strings.TrimSuffix(id, "/released")].released,
			"more": canary})
		return
	default:
		s.poll(r, id)
	}
	_, _ = io.WriteString(w, canary)
}

func (s *carelessShop) call(method, path, body string) (answer map[string]string) {
	req, err := http.NewRequest(method, s.gateway+path, strings.NewReader(body))
	if err != nil {
		return nil
	}
	req.Header.Set("X-API-Key", s.secrets.APIKey)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	_ = json.NewDecoder(res.Body).Decode(&answer)
	return answer
}

func (s *carelessShop) buy(w http.ResponseWriter, r *http.Request) {
	made := s.call(http.MethodPost, "/api/v1/sessions/create", `{"target_age":18}`)
	browser := made["session_id"]
	if before, err := r.Cookie(browserCookie); err == nil {
		browser = before.Value
	}
	s.mu.Lock()
	s.orders[made["session_id"]] = &carelessOrder{browser: browser, by: map[string]bool{}}
	s.mu.Unlock()
	for name, value := range map[string]string{
		orderCookie: made["session_id"], sessionCookie: made["session_id"], browserCookie: browser,
	} {
		http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/"})
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"verification_url": made["verification_url"],
		"session_id": made["session_id"], "more": canary})
}

// release releases an order in a way; with once, only the first time.
func (s *carelessShop) release(session, way string, once bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.orders[session]
	if o == nil {
		return
	}
	released := o.released > 0
	if s.makes("once.redirect-and-webhook", "once.redirect-and-polling") {
		released = o.by[way]
	}
	if s.makes(way+".at-once", "once.redirect-and-webhook-together") { // checks now, but releases later
		s.mu.Unlock()
		time.Sleep(50 * time.Millisecond)
		s.mu.Lock()
	}
	if !released || !once {
		o.released++
		o.by[way] = true
	}
}

func (s *carelessShop) thanks(r *http.Request) {
	own, err := r.Cookie(orderCookie)
	if err != nil {
		return
	}
	if s.mistake == "polling.other-session" &&
		s.call(http.MethodGet, "/api/v1/sessions/"+r.URL.Query().Get("session")+"/status", "")["status"] == "PASSED" {
		s.release(own.Value, "polling", true)
	}
	expected := own.Value
	if s.mistake == "redirect.other-cookie" {
		if session, err := r.Cookie(sessionCookie); err == nil {
			expected = session.Value
		}
	}
	if !s.isPass(r.URL.Query(), expected) || s.mistake == "redirect.good" {
		return
	}
	s.release(own.Value, "redirect", s.mistake != "redirect.replay")
	if s.mistake == "redirect.other-order" {
		for session, o := range s.orders {
			if o.browser == s.orders[own.Value].browser {
				s.release(session, "redirect", true)
			}
		}
	}
}

func (s *carelessShop) isPass(q url.Values, session string) bool {
	for _, name := range []string{"session", "status", "is_adult", "token"} {
		if len(q[name]) > 1 && s.mistake != "redirect.doubled" || len(q[name]) == 0 && s.mistake != "redirect.missing" {
			return false
		}
	}
	if s.mistake == "redirect.missing" && q.Get("token") == "" {
		return true
	}
	token := q.Get("token")
	if s.mistake == "redirect.padding" {
		token = strings.TrimRight(token, "=")
	}
	parts := strings.Split(token, ".")
	if len(parts) < 2 || len(parts) > 2 && s.mistake != "redirect.junk" {
		return false
	}
	key := s.redirect
	if s.mistake == "redirect.empty-key" {
		key = nil
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(q.Get("session") + "|" + q.Get("status") + "|" + q.Get("is_adult") + "|" + parts[0]))
	want := base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	signed := want == parts[1] || s.mistake == "redirect.respelled" && strings.EqualFold(want, parts[1])
	if !signed && !s.makes("redirect.altered-expiry", "redirect.swapped-session", "redirect.other-tenant",
		"redirect.other-mode") {
		return false
	}
	expires, err := strconv.ParseInt(parts[0], 10, 64)
	if other := q.Get("expires"); other != "" && s.mistake == "redirect.unsigned-expiry" {
		expires, err = strconv.ParseInt(other, 10, 64)
	}
	if err != nil || s.now().Unix() > expires && s.mistake != "redirect.expired" {
		return false
	}
	return (q.Get("session") == session || s.mistake == "redirect.other-session") &&
		(q.Get("status") == "VERIFIED" || s.mistake == "redirect.fallback") &&
		(q.Get("is_adult") == "true" || s.makes("redirect.fallback", "redirect.not-adult"))
}

type carelessEvent struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"session_id"`
	Status    string    `json:"status"`
	IsAdult   bool      `json:"is_adult"`
	Livemode  bool      `json:"livemode"`
}

func (s *carelessShop) receive(r *http.Request) int {
	body, err := io.ReadAll(r.Body)
	if err != nil || s.mistake == "webhook.good" || s.mistake == "webhook.header-names" && s.small.Load() {
		return http.StatusInternalServerError
	}
	if id := r.Header.Get("webhook-id"); s.mistake == "webhook.forged-first" {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.seen[id] {
			return http.StatusOK
		}
		s.seen[id] = true
		return http.StatusUnauthorized
	}
	if !s.verified(r.Header, body) {
		return http.StatusUnauthorized
	}
	var e carelessEvent
	in := json.NewDecoder(strings.NewReader(string(body)))
	if s.mistake == "webhook.unknown-members" {
		in.DisallowUnknownFields()
	}
	if in.Decode(&e) != nil || s.mistake == "webhook.spelling" && !strings.Contains(string(body), `,"is_adult":`) {
		return http.StatusBadRequest
	}
	s.mu.Lock()
	id := r.Header.Get("webhook-id")
	repeated, older := s.seen[id], e.Timestamp.Before(s.latest)
	s.seen[id] = true
	if !older {
		s.latest = e.Timestamp
	}
	s.mu.Unlock()
	again := s.mistake == "webhook.duplicate"
	switch {
	case repeated && !again && s.mistake != "webhook.at-once":
		return http.StatusOK
	case older && s.mistake == "webhook.out-of-order":
		return http.StatusConflict
	}
	if (e.Status == "VERIFIED" || s.mistake == "webhook.fallback") &&
		(e.IsAdult || s.makes("webhook.fallback", "webhook.not-adult")) &&
		(!e.Livemode || s.mistake == "webhook.livemode") {
		s.release(e.SessionID, "webhook", !again)
	}
	return http.StatusOK
}

func (s *carelessShop) verified(h http.Header, body []byte) bool {
	if s.makes("webhook.flipped", "webhook.foreign-secret", "webhook.swapped-id") {
		return true
	}
	id, stamp := h.Get("webhook-id"), h.Get("webhook-timestamp")
	if id == "" || stamp == "" || h.Get("webhook-signature") == "" {
		return s.mistake == "webhook.missing-header"
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	age := s.now().Sub(time.Unix(seconds, 0))
	if err != nil || age > 5*time.Minute && s.mistake != "webhook.stale" || age < -5*time.Minute &&
		s.mistake != "webhook.early" {
		return false
	}
	if s.mistake == "webhook.respelled" {
		var e carelessEvent
		if json.Unmarshal(body, &e) != nil {
			return false
		}
		body, _ = json.Marshal(e)
	}
	key := s.webhook
	if s.mistake == "webhook.empty-key" {
		key = nil
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	given := strings.Fields(h.Get("webhook-signature"))
	if s.makes("webhook.rotation", "webhook.unknown-scheme") {
		given = given[:1]
	}
	return slices.ContainsFunc(given, func(one string) bool {
		return one == want || s.mistake == "webhook.respelled-signature" && strings.EqualFold(one, want) ||
			s.mistake == "webhook.empty-signature" && strings.HasPrefix(want, one)
	})
}

// poll looks up the status.
func (s *carelessShop) poll(r *http.Request, session string) {
	status := s.call(http.MethodGet, "/api/v1/sessions/"+session+"/status", "")["status"]
	if own, err := r.Cookie(orderCookie); err == nil && status == "" && s.mistake == "polling.unknown" {
		s.release(own.Value, "polling", true)
	}
	if o := s.orders[session]; o != nil && s.mistake == "polling.later" {
		o.passed = cmp.Or(o.passed, status)
		status = o.passed
	}
	wrong := map[string]string{
		"polling.pending": "PENDING", "polling.fallback": "FALLBACK", "polling.spoof": "SPOOF", "polling.expired": "EXPIRED",
	}[s.mistake]
	if status == "PASSED" && s.mistake != "polling.passed" || status == wrong {
		s.release(session, "polling", true)
	}
}
