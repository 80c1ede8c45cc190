package certify_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
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
	orders map[string]*carelessOrder                // by session
	seen   map[string]bool                          // webhook IDs
	latest time.Time                                // of the events
	last   string                                   // session of the last order of all
	number string                                   // what names the Success URL's order number, or "nowhere"; "": none
	loose  map[string]func(want, given string) bool // how a field is compared, if not exactly
	locked map[string]time.Time                     // until when an order is not released again

	language string         // that it appends to the verification URL
	pending  map[string]int // how many lookups said so, by session
	status   string         // what the last lookup that was answered said
	raw      map[string]int // releases by the order's number as the address has it
}

type carelessOrder struct {
	browser  string
	number   string // in its Success URL
	passed   string // what the first lookup said
	ended    bool   // a step that is no pass ended it
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
	s.locked = map[string]time.Time{}
	s.pending = map[string]int{}
	s.raw = map[string]int{}
}

// same compares a value of a field with the wanted one.
func (s *carelessShop) same(field, want, given string) bool {
	if loose := s.loose[field]; loose != nil {
		return loose(want, given)
	}
	return want == given
}

// orderOf returns the session of the order that a session in a field stands for.
func (s *carelessShop) orderOf(field, session string) string {
	if s.loose[field] == nil {
		return session
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(s.orders))) {
		if s.same(field, id, session) {
			return id
		}
	}
	return ""
}

// makes reports whether the shop makes one of these mistakes.
func (s *carelessShop) makes(mistakes ...string) bool { return slices.Contains(mistakes, s.mistake) }

func (s *carelessShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.answerFirst(w, r) || s.meddle(r) {
		return
	}
	switch id := strings.TrimPrefix(r.URL.Path, "/orders/"); {
	case r.URL.Path == "/buy":
		s.buy(w, r)
		return
	case r.URL.Path == "/thanks":
		s.thanks(w, r)
	case r.URL.Path == "/cancelled":
		if own, err := r.Cookie(orderCookie); err == nil && (s.mistake == "redirect.cancelled" ||
			s.mistake == cancelledAsPass && r.URL.Query().Get("status") == "VERIFIED") {
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
	if res.StatusCode >= http.StatusBadRequest {
		return nil
	}
	_ = json.NewDecoder(res.Body).Decode(&answer)
	return answer
}

func (s *carelessShop) buy(w http.ResponseWriter, r *http.Request) {
	age := `{"target_age":18}`
	if s.mistake == "order.age" {
		age = `{"target_age":16}`
	}
	number := ""
	if s.number != "" {
		number = rand.Text()
		age = strings.Replace(age, "}", `,"success_url":"http://`+r.Host+`/thanks?shop=1&order=`+number+`"}`, 1)
	}
	if s.number == "cancel" {
		age = strings.Replace(age, "}", `,"cancel_url":"http://`+r.Host+`/cancelled?order=`+number+`"}`, 1)
	}
	made := s.call(http.MethodPost, "/api/v1/sessions/create", age)
	browser := made["session_id"]
	if before, err := r.Cookie(browserCookie); err == nil {
		browser = before.Value
	}
	s.mu.Lock()
	s.orders[made["session_id"]] = &carelessOrder{browser: browser, number: number, by: map[string]bool{}}
	s.last = made["session_id"]
	s.mu.Unlock()
	for name, value := range map[string]string{
		orderCookie: made["session_id"], sessionCookie: made["session_id"], browserCookie: browser,
	} {
		http.SetCookie(w, s.cookie(name, value))
	}
	said := map[string]string{"verification_url": made["verification_url"] + s.language,
		"session_id": made["session_id"], "more": canary}
	if s.number == "json" {
		said["order"] = number
	}
	_ = json.NewEncoder(w).Encode(said)
}

// release releases an order in a way; with once, only the first time.
func (s *carelessShop) release(session, way string, once bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.orders[session]
	if o == nil || s.holds(o, way) {
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
	if s.makes("redirect.replay-later", "webhook.duplicate-later") {
		released, s.locked[session] = time.Now().Before(s.locked[session]), time.Now().Add(5*time.Millisecond)
	}
	if !released || !once {
		o.released++
		o.by[way] = true
	}
}

func (s *carelessShop) thanks(w http.ResponseWriter, r *http.Request) {
	own, err := r.Cookie(orderCookie)
	switch {
	case err == nil:
	case s.mistake == "redirect.no-cookies":
		s.release(s.last, "redirect", true)
		return
	case s.mistake == "redirect.replay-elsewhere":
		own = &http.Cookie{Value: r.URL.Query().Get("session")}
	default:
		return
	}
	if s.mistake == "redirect.posted" && r.Method == http.MethodPost {
		s.release(own.Value, "redirect", true)
	}
	adult, err := r.Cookie("adult")
	if s.mistake == "redirect.plain-cookie" && err == nil && adult.Value == "1" ||
		s.mistake == "redirect.referer" && strings.Contains(r.Referer(), "127.0.0.1") {
		s.release(own.Value, "redirect", true)
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
	if s.makes("redirect.two-shoppers", "redirect.later-session") {
		expected = s.last
	}
	if o := s.orders[own.Value]; o != nil && o.number != r.URL.Query().Get("order") {
		return // another order's address
	}
	if !s.isPass(r.URL.Query(), expected) || s.mistake == "redirect.good" {
		return
	}
	_, err = r.Cookie("done")
	s.mu.Lock()
	token := r.URL.Query().Get("token")
	again := s.mistake == onceAToken && !s.seen[token]
	s.seen[token] = true
	s.mu.Unlock()
	once := s.mistake != "redirect.replay" && (s.mistake != "redirect.replay-elsewhere" || err == nil)
	s.release(own.Value, "redirect", !again && once)
	http.SetCookie(w, &http.Cookie{Name: "done", Value: "1", Path: "/"})
	if s.mistake == "redirect.other-order" {
		for session, o := range s.orders {
			if o.browser == s.orders[own.Value].browser {
				s.release(session, "redirect", true)
			}
		}
	}
}

// complete takes a session that is a beginning of the wanted one for that one, with the mistake.
func (s *carelessShop) complete(q url.Values, session string) {
	if s.mistake == "redirect.cut-value" && strings.HasPrefix(session, q.Get("session")) {
		q.Set("session", session)
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
	s.complete(q, session)
	key := s.redirect
	if s.mistake == "redirect.empty-key" {
		key = nil
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(q.Get("session") + "|" + q.Get("status") + "|" + q.Get("is_adult") + "|" + parts[0]))
	want := base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	signed := s.same("mac", want, parts[1]) || s.mistake == "redirect.respelled" && strings.EqualFold(want, parts[1])
	signed = signed || s.makes("redirect.cut-token", "redirect.unsigned") && strings.HasPrefix(want, parts[1])
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
		(q.Get("status") == "VERIFIED" || s.makes("redirect.fallback", anyStatus)) &&
		(q.Get("is_adult") == "true" || s.makes("redirect.fallback", "redirect.not-adult"))
}
