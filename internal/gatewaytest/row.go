package gatewaytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"agegate"
	"agegate/internal/edge/contract"
	"agegate/internal/edge/reference"
	"agegate/internal/rules/session"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Row is one API call and the expected answer.
type Row struct {
	Name   string
	Method string // default GET, or POST with a body
	Path   string
	Key    string // X-API-Key; empty sends none, several lines send several
	Header map[string]string
	Body   string

	Status int
	JSON   string // the exact body; the strings "<uuid>", "<time>" and "<url>" match any UUID, time or URL
	Not    []string
}

// Do sends the row, checks the answer and returns its body.
func (g *Gateway) Do(t testing.TB, row Row) string {
	t.Helper()
	res, body := g.send(t, row)
	if res.StatusCode != row.Status {
		t.Errorf("%s: status %d, want %d; body %s", row.Name, res.StatusCode, row.Status, body)
	}
	if row.JSON != "" {
		matchJSON(t, row.Name, row.JSON, body)
	}
	for _, not := range row.Not {
		if strings.Contains(body, not) || strings.Contains(fmt.Sprint(res.Header), not) {
			t.Errorf("%s: the answer contains %q", row.Name, not)
		}
	}
	return body
}

// send sends a row and checks the answer against the contract.
func (g *Gateway) send(t testing.TB, row Row) (*http.Response, string) {
	t.Helper()
	if row.Method == "" {
		row.Method = http.MethodGet
		if row.Body != "" {
			row.Method = http.MethodPost
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), row.Method, g.URL+row.Path, strings.NewReader(row.Body))
	if err != nil {
		t.Fatal(err)
	}
	if row.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if row.Key != "" {
		req.Header["X-Api-Key"] = strings.Split(row.Key, "\n")
	}
	for name, value := range row.Header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body := read(t, res)
	checkContract(t, row, req, res, body)
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %s is %q, want %q", row.Name, name, got, want)
		}
	}
	if res.Header.Get("X-Request-ID") == "" {
		t.Errorf("%s: the answer has no request id", row.Name)
	}
	for _, detail := range ErrorDetails([]byte(body)) {
		if reference.Headings()[detail] == "" {
			t.Errorf("%s: the guide to errors does not explain %q", row.Name, detail)
		}
	}
	return res, body
}

// ErrorDetails returns the names under which the guide to errors explains an answer: its
// detail, its code, or the types of its violations. It returns nothing for a body that is
// not an API error.
func ErrorDetails(body []byte) (names []string) {
	var answer struct{ Detail any }
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}
	switch detail := answer.Detail.(type) {
	case string:
		return []string{detail}
	case map[string]any:
		return []string{fmt.Sprint(detail["code"])}
	case []any:
		for _, violation := range detail {
			member, _ := violation.(map[string]any)
			names = append(names, fmt.Sprint(member["type"]))
		}
	}
	return names
}

// contractRouter finds the operation of a request in the published contract.
var contractRouter = sync.OnceValues(func() (routers.Router, error) {
	doc, err := contract.Read(agegate.OpenAPI)
	if err != nil {
		return nil, err
	}
	doc.Servers = openapi3.Servers{{URL: "/"}}
	return gorillamux.NewRouter(doc)
})

// checkContract fails the test if the contract does not allow the answer of a
// documented operation. It accepts any answer of undocumented paths.
func checkContract(t testing.TB, row Row, req *http.Request, res *http.Response, body string) {
	t.Helper()
	router, err := contractRouter()
	if err != nil {
		t.Fatal(err)
	}
	found := req.Clone(context.Background())
	found.URL.Scheme = ""
	found.URL.Host = ""
	found.Host = ""
	route, params, err := router.FindRoute(found)
	if err != nil {
		return
	}
	err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: found, PathParams: params, Route: route},
		Status:                 res.StatusCode,
		Header:                 res.Header,
		Body:                   io.NopCloser(bytes.NewReader([]byte(body))),
		Options:                &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	if err != nil {
		t.Errorf("%s: the answer breaks the contract: %v", row.Name, err)
	}
}

var patterns = map[string]*regexp.Regexp{
	"<uuid>": regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
	"<time>": regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$`),
	"<url>":  regexp.MustCompile(`^http://verify\.gateway\.example/v/[A-Za-z0-9_-]{43}$`),
}

func matchJSON(t testing.TB, name, want, got string) {
	t.Helper()
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: the expected JSON: %v", name, err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Errorf("%s: the answer is not JSON: %q", name, got)
		return
	}
	if !reflect.DeepEqual(w, mask(w, g)) {
		t.Errorf("%s:\n got %s\nwant %s", name, got, want)
	}
}

// mask replaces the values in got for which want has a placeholder by that
// placeholder.
func mask(want, got any) any {
	switch w := want.(type) {
	case string:
		if s, ok := got.(string); ok && patterns[w] != nil && patterns[w].MatchString(s) {
			return w
		}
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			for k := range g {
				g[k] = mask(w[k], g[k])
			}
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			for i := range g {
				g[i] = mask(w[i], g[i])
			}
		}
	}
	return got
}

func newJar() http.CookieJar {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err) // cookiejar.New cannot fail without options
	}
	return jar
}

// Created is the answer to a creation.
type Created struct {
	SessionID       string `json:"session_id"`
	VerificationURL string `json:"verification_url"`
	ExpiresAt       string `json:"expires_at"`
}

// Create creates a session with a key and returns it.
func (g *Gateway) Create(t testing.TB, key string, targetAge int) Created {
	t.Helper()
	body := g.Do(t, Row{
		Name: "create", Path: "/api/v1/sessions/create", Key: key, Body: fmt.Sprintf(`{"target_age":%d}`, targetAge),
		Status: http.StatusCreated, JSON: `{"session_id":"<uuid>","verification_url":"<url>","expires_at":"<time>"}`,
	})
	var c Created
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// Force opens a session's page with a forced outcome and returns the answer's
// status and header.
func (g *Gateway) Force(t testing.TB, browser *http.Client, c Created, outcome string) (*http.Response, string) {
	t.Helper()
	res, err := browser.Get(g.Path(c.VerificationURL) + "?force=" + outcome)
	if err != nil {
		t.Fatal(err)
	}
	return res, read(t, res)
}

// StatusOf looks up a session and returns its status.
func (g *Gateway) StatusOf(t testing.TB, key string, c Created) string {
	t.Helper()
	body := g.Do(t, Row{Name: "status", Path: "/api/v1/sessions/" + c.SessionID + "/status", Key: key,
		Status: http.StatusOK})
	var out struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatal(err)
	}
	return out.Status
}

// session returns the stored session behind a creation.
func (g *Gateway) session(t testing.TB, c Created) session.Session {
	t.Helper()
	_, token, _ := strings.Cut(c.VerificationURL, "/v/")
	s, err := g.App.Sessions.ByLink(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
