package certify_test

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

type carelessEvent struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"session_id"`
	Status    string    `json:"status"`
	IsAdult   bool      `json:"is_adult"`
	Livemode  bool      `json:"livemode"`
}

func (s *carelessShop) receive(r *http.Request) int {
	if r.Method == http.MethodGet && s.mistake == "webhook.get" && r.URL.Query().Get("status") == "VERIFIED" {
		s.release(r.URL.Query().Get("session_id"), "webhook", true)
	}
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
		s.meddleForged()
		return http.StatusUnauthorized
	}
	var e carelessEvent
	in := json.NewDecoder(strings.NewReader(string(body)))
	if s.mistake == "webhook.unknown-members" {
		in.DisallowUnknownFields()
	}
	if in.Decode(&e) != nil || s.mistake == wantsFraction && e.Timestamp.Nanosecond() == 0 ||
		s.mistake == smallBody && len(body) > 1<<10 ||
		s.mistake == "webhook.spelling" && !strings.Contains(string(body), `,"is_adult":`) {
		return http.StatusBadRequest
	}
	s.mu.Lock()
	unknown := s.orders[e.SessionID] == nil
	id := r.Header.Get("webhook-id")
	repeated, older := s.seen[id], e.Timestamp.Before(s.latest)
	s.seen[id] = true
	if !older {
		s.latest = e.Timestamp
	}
	s.mu.Unlock()
	again := s.mistake == "webhook.duplicate"
	again = again || s.mistake == "webhook.duplicate-later"
	switch {
	case repeated && !again && s.mistake != "webhook.at-once":
		return http.StatusOK
	case older && s.mistake == "webhook.out-of-order":
		return http.StatusConflict
	}
	if s.mistake == "webhook.unknown-session" && unknown {
		return http.StatusGone
	}
	if s.passes(e) {
		s.release(s.orderOf("event", e.SessionID), "webhook", !again || s.mistake == "webhook.duplicate-later")
	}
	return http.StatusOK
}

func (s *carelessShop) passes(e carelessEvent) bool {
	return (s.same("status", "VERIFIED", e.Status) || s.mistake == "webhook.fallback" ||
		s.mistake == "webhook.cut-member" && strings.HasPrefix("VERIFIED", e.Status)) &&
		(e.IsAdult || s.makes("webhook.fallback", "webhook.not-adult")) &&
		(!e.Livemode || s.mistake == "webhook.livemode")
}

func (s *carelessShop) verified(h http.Header, body []byte) bool {
	if s.makes("webhook.flipped", "webhook.foreign-secret", "webhook.swapped-id") {
		return true
	}
	id, stamp := h.Get("webhook-id"), h.Get("webhook-timestamp")
	if s.mistake == "webhook.cut-header" && len(h["Webhook-Timestamp"]) == 1 && stamp == "" {
		return true
	}
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
	if i := bytes.Index(body, []byte(`"livemode":false`)); s.mistake == "webhook.cut-body" && i > 0 {
		body = append(bytes.Clone(body[:i+len(`"livemode":false`)]), '}')
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
	if s.mistake == lastSignature {
		given = given[len(given)-1:]
	}
	return slices.ContainsFunc(given, func(one string) bool {
		return s.same("signature", want, one) || s.mistake == "webhook.respelled-signature" && strings.EqualFold(one, want) ||
			s.makes("webhook.empty-signature", "webhook.cut-signature") && strings.HasPrefix(want, one) ||
			s.mistake == "webhook.foreign-scheme" && !strings.HasPrefix(one, "v1,")
	})
}

// mistaken returns what the shop takes the status of a lookup for, with two mistakes.
func (s *carelessShop) mistaken(session, status string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mistake == thirdPending && status == "PENDING" {
		s.pending[session]++
		if s.pending[session] > 2 {
			return "PASSED"
		}
	}
	if s.mistake == lastStatus {
		s.status = cmp.Or(status, s.status)
		return s.status
	}
	return status
}

// poll looks up the status.
func (s *carelessShop) poll(r *http.Request, session string) {
	if own, err := r.Cookie(orderCookie); err == nil && s.mistake == "polling.cut-session" {
		for id := range s.orders {
			if strings.HasPrefix(id, session) &&
				s.call(http.MethodGet, "/api/v1/sessions/"+id+"/status", "")["status"] == "PASSED" {
				s.release(own.Value, "polling", true)
			}
		}
		return
	}
	if s.mistake == "polling.two-shoppers" && session != s.last {
		return
	}
	if s.mistake == "polling.later-session" {
		if s.call(http.MethodGet, "/api/v1/sessions/"+s.last+"/status", "")["status"] == "PASSED" {
			s.release(session, "polling", true)
		}
		return
	}
	if s.loose["poll"] != nil { // as if the gateway's answer were kept with each order
		for id := range s.orders {
			if own, err := r.Cookie(orderCookie); err == nil && s.same("poll", id, session) &&
				s.call(http.MethodGet, "/api/v1/sessions/"+id+"/status", "")["status"] == "PASSED" {
				s.release(own.Value, "polling", true)
			}
		}
		return
	}
	looked := session
	if theirs, err := r.Cookie(sessionCookie); err == nil && s.mistake == cookieLookup {
		looked = theirs.Value
	}
	status := s.call(http.MethodGet, "/api/v1/sessions/"+looked+"/status", "")["status"]
	status = s.mistaken(session, status)
	if own, err := r.Cookie(orderCookie); err == nil && status == "" && s.makes("polling.unknown", "polling.fails") {
		s.release(own.Value, "polling", true)
	}
	if o := s.orders[session]; o != nil && s.mistake == "polling.recovers" {
		if status == "" {
			o.passed = "given up"
		}
		status = cmp.Or(o.passed, status)
	}
	if o := s.orders[session]; o != nil && s.mistake == "polling.later" {
		o.passed = cmp.Or(o.passed, status)
		status = o.passed
	}
	wrong := map[string]string{
		"polling.pending": "PENDING", "polling.fallback": "FALLBACK", "polling.spoof": "SPOOF", "polling.expired": "EXPIRED",
	}[s.mistake]
	if status == "PASSED" && s.mistake != "polling.passed" || wrong != "" && status == wrong {
		s.release(session, "polling", s.mistake != "polling.at-once")
	}
}
