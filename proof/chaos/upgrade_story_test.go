//go:build linux && upgrade

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agegate/proof/table"
)

// release is a gateway of one release.
type release struct {
	*gateway
	name string
}

// stop ends the gateway in order.
func (r *release) stop() {
	r.t.Helper()
	if _, code := r.terminate(); code != 0 {
		r.t.Errorf("%s ended with %d\n%s", r.name, code, r.log)
	}
}

// story is what a merchant, a member of staff and shoppers did with gateways of both
// releases, and what they were answered.
type story struct {
	t        *testing.T
	shop     merchant
	at       *release
	browser  *http.Client      // logged in to the dashboard; keeps its cookies, whichever gateway answers
	sessions map[string]string // status by session of the shop
	repeats  map[string]string // answer by idempotency key of a creation
	open     session
	recovery string // path of a recovery link
}

// The dashboard's and the pages' address by default. Whichever gateway the story is at
// answers there.
const publicURL = "http://localhost:8080"

func newStory(t *testing.T, at *release, shop merchant) *story {
	s := &story{t: t, at: at, shop: shop, sessions: map[string]string{}, repeats: map[string]string{}}
	s.browser = s.newBrowser()
	return s
}

func (s *story) newBrowser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	var dialer net.Dialer
	return &http.Client{Jar: jar, Timeout: table.HangLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(
			ctx context.Context, network, _ string,
		) (net.Conn, error) {
			return dialer.DialContext(ctx, network, strings.TrimPrefix(s.at.url, "http://"))
		}},
	}
}

// send sends a form, or gets a page, and returns status and body.
func (s *story) send(browser *http.Client, path string, form url.Values) (int, string) {
	s.t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, publicURL+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	res, err := browser.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// link returns the path of the link that a command prints.
func (s *story) link(field string, args ...string) string {
	s.t.Helper()
	var links map[string]string
	if err := json.Unmarshal([]byte(s.at.run(args...)), &links); err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimPrefix(links[field], publicURL)
}

const password = "four owls under a blue moon"

func (s *story) logIn(password string) int {
	form := url.Values{"email": {"ada@shop.example"}, "password": {password}}
	status, _ := s.send(s.newBrowser(), "/dashboard/login", form)
	return status
}

// begin creates a session with an idempotency key.
func (s *story) begin(key, idempotencyKey string) session {
	s.t.Helper()
	made, r, ok := newClient().create(s.at.url, key, idempotencyKey)
	if !ok {
		s.t.Fatalf("%s: a creation is answered %d: %s", s.at.name, r.status, r.body)
	}
	return made
}

// act makes sessions of the shop at a gateway, one for each outcome.
func (s *story) act(at *release) {
	s.t.Helper()
	s.at = at
	for outcome, status := range outcomes {
		made := s.begin(s.shop.Test, fmt.Sprintf("%d", len(s.sessions)))
		if got, r := newClient().force(at.url, made, outcome); got != status {
			s.t.Errorf("%s: force=%s is answered %d and shows %q", at.name, outcome, r.status, got)
		}
		s.sessions[made.id] = status
	}
}

// fill lets the shop, a tenant that will be deleted, staff and the operator do what fills
// the tables.
func (s *story) fill(leaver merchant) {
	s.t.Helper()
	s.at.run("tenant", "credit", s.shop.ID, "--add", "50")
	s.at.run("tenant", "set", s.shop.ID, "--brand-name", "The shop", "--brand-colour", "#1f5f5b")
	root := filepath.Join(s.t.TempDir(), "root.pem")
	if err := os.WriteFile(root, []byte(s.at.run("verifier", "root", "--name", "Root")), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.at.run("trust", "add", root, "--name", "State", "--country", "DE", "--doctype", "mdl", "--signer-usage", "any")

	setup := s.link("setup_link", "user", "setup-link", "--json", "--tenant", s.shop.ID)
	person := url.Values{"name": {"Ada"}, "email": {"ada@shop.example"}, "password": {password}}
	if status, _ := s.send(s.browser, setup, person); status != http.StatusSeeOther {
		s.t.Fatalf("the set-up is answered %d", status)
	}
	if status := s.logIn("not the password"); status != http.StatusUnprocessableEntity {
		s.t.Errorf("a wrong password is answered %d", status)
	}
	s.recovery = s.link("recovery_link", "user", "recover", "--json", "ada@shop.example")

	shop := s.shop
	s.shop = leaver
	s.act(s.at)
	clear(s.sessions)
	s.shop = shop
	s.act(s.at)
	s.open = s.begin(shop.Test, "open")
	s.sessions[s.open.id] = "PENDING"
	s.sessions[s.begin(shop.Live, "live").id] = "PENDING"
	newClient().do(http.MethodPost, s.at.url+"/api/v1/sessions/create", `{"target_age":200}`,
		"X-API-Key", shop.Test, "Content-Type", "application/json")
}

// audit looks at everything that the story made, at a gateway, and returns what is wrong.
func (s *story) audit(at *release) (wrong []string) {
	s.t.Helper()
	s.at = at
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, at.name+": "+fmt.Sprintf(format, args...))
		}
	}
	for id, want := range s.sessions {
		got, r := newClient().status(at.url, session{id: id, key: s.shop.Test})
		if r.status == http.StatusNotFound {
			got, r = newClient().status(at.url, session{id: id, key: s.shop.Live})
		}
		check(got == want, "session %s is %q (%d), want %s", id, got, r.status, want)
	}
	made := s.begin(s.shop.Test, "open")
	check(made == s.open, "a creation that was sent again made session %s, not %s", made.id, s.open.id)
	page := newClient().do(http.MethodGet, at.url+s.open.path, "")
	check(page.status == http.StatusOK, "the page of an open session is answered %d", page.status)
	tenant := "/dashboard/" + s.shop.ID
	for _, path := range []string{tenant + "/test/sessions", tenant + "/test/webhooks", tenant + "/test/keys",
		tenant + "/team", tenant + "/audit", tenant + "/test", "/dashboard/account", s.recovery} {
		status, _ := s.send(s.browser, path, nil)
		check(status == http.StatusOK, "%s is answered %d", path, status)
	}
	status := s.logIn(password)
	check(status == http.StatusSeeOther, "a log-in is answered %d", status)
	return wrong
}

// missing returns the events of finished sessions that a reader of the feed of a gateway
// does not get, and those that the list of the newest lacks.
func (s *story) missing(at *release) (missing []string) {
	s.t.Helper()
	seen, after := map[string]bool{}, firstEvent
	for {
		page := s.events(at, "?after="+after)
		for _, e := range page {
			seen[e.Session], after = true, e.ID
		}
		if len(page) == 0 {
			break
		}
	}
	newest := map[string]bool{}
	for _, e := range s.events(at, "") {
		newest[e.Session] = true
	}
	for id, status := range s.sessions {
		if resultOf[status] != "" && !seen[id] {
			missing = append(missing, "after= lacks the event of session "+id)
		}
		if resultOf[status] != "" && !newest[id] && len(newest) < 50 {
			missing = append(missing, "the list lacks the event of session "+id)
		}
	}
	return missing
}

// feedEvent is an event of the feed.
type feedEvent struct {
	ID      string `json:"event_id"`
	Session string `json:"session_id"`
}

func (s *story) events(at *release, query string) []feedEvent {
	s.t.Helper()
	r := newClient().do(http.MethodGet, at.url+"/api/v1/test/events"+query, "", "X-API-Key", s.shop.Test)
	var told struct{ Events []feedEvent }
	if err := json.Unmarshal([]byte(r.body), &told); r.status != http.StatusOK || err != nil {
		s.t.Fatalf("%s: the feed is answered %d: %v", at.name, r.status, err)
	}
	return told.Events
}
