package httpd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"agegate/gen"
	"agegate/internal/edge/httpd"
	"agegate/internal/edge/reference"
	"agegate/internal/rules/fault"
)

const (
	baseURL   = "https://gateway.example.com"
	sessionID = "0190c0de-5a3b-7c1d-9e2f-4b6a8d0c1e3f"
	goodKey   = "svc_test_good"
	// canary stands for anything that a client may send: it must never be
	// returned or logged.
	canary = "c4n4ry"
)

// stub answers every operation, or fails with err.
type stub struct {
	gen.StrictServerInterface // answers the operations that no test here calls

	err      error
	panics   any
	received *gen.CreateSessionRequestObject
}

func (s *stub) CreateSession(
	_ context.Context, r gen.CreateSessionRequestObject,
) (gen.CreateSessionResponseObject, error) {
	if s.panics != nil {
		panic(s.panics)
	}
	s.received = &r
	return gen.CreateSession201JSONResponse{Body: gen.CreateSessionOut{
		SessionID: uuid.MustParse(sessionID), VerificationURL: "https://verify.example.com/v/x",
		ExpiresAt: time.Unix(0, 0).UTC(),
	}}, s.err
}

func (s *stub) GetSessionStatus(
	_ context.Context, r gen.GetSessionStatusRequestObject,
) (gen.GetSessionStatusResponseObject, error) {
	return gen.GetSessionStatus200JSONResponse{Status: gen.SessionStatusPending, StatusAt: time.Unix(0, 0).UTC()}, s.err
}

func (s *stub) GetDetectedAge(
	_ context.Context, r gen.GetDetectedAgeRequestObject,
) (gen.GetDetectedAgeResponseObject, error) {
	return gen.GetDetectedAge200JSONResponse{SessionID: r.SessionID, Availability: gen.AgeAvailabilityPending}, s.err
}

func authenticate(c echo.Context) error {
	switch key := c.Request().Header.Get("X-API-Key"); {
	case key == goodKey:
		return nil
	case key == "svc_test_disabled":
		return fault.New(fault.TenantDisabled, "Tenant disabled")
	case strings.HasPrefix(key, "svc_test_"):
		return fault.New(fault.InvalidKey, "Invalid API key")
	}
	return fault.New(fault.MalformedKey, "Missing or malformed API key")
}

func newEdge(t testing.TB, s *stub, change func(*httpd.Config)) (*echo.Echo, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	docs, err := reference.New(reference.Config{BaseURL: baseURL})
	if err != nil {
		t.Fatal(err)
	}
	operations := func(e *echo.Echo) { gen.RegisterHandlers(e, gen.NewStrictHandler(s, nil)) }
	cfg := httpd.Config{Logger: slog.New(slog.NewJSONHandler(&log, nil)), Authenticate: authenticate,
		Mounts: []func(*echo.Echo){operations, docs.Register}}
	if change != nil {
		change(&cfg)
	}
	e, err := httpd.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e, &log
}

// row is one request and its expected response.
type row struct {
	name   string
	method string // default POST
	path   string // default the create operation
	header map[string]string
	body   string
	stream bool // send the body without a length
	status int
	want   string // exact body; "" for any
}

const (
	createPath = "/api/v1/sessions/create"
	statusPath = "/api/v1/sessions/" + sessionID + "/status"
)

func (r row) request() *http.Request {
	method, path := r.method, r.path
	if method == "" {
		method = http.MethodPost
	}
	if path == "" {
		path = createPath
	}
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	if r.stream {
		body = io.MultiReader(body)
	}
	req := httptest.NewRequest(method, path, body)
	req.Header.Set("X-API-Key", goodKey)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.header {
		req.Header.Del(name)
		for v := range strings.SplitSeq(value, "\n") {
			if value != "" {
				req.Header.Add(name, v)
			}
		}
	}
	return req
}

func (r row) run(t *testing.T) {
	t.Run(r.name, func(t *testing.T) {
		e, log := newEdge(t, &stub{}, nil)
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, r.request())
		got := strings.TrimSpace(rec.Body.String())
		if rec.Code != r.status || r.want != "" && got != r.want {
			t.Errorf("got %d %s\nwant %d %s", rec.Code, got, r.status, r.want)
		}
		if said := fmt.Sprint(got, rec.Header(), log); strings.Contains(said, canary) {
			t.Errorf("input came back or was logged: %s", said)
		}
		checkHelp(t, e, rec)
	})
}

// checkHelp fails the test unless an error of the API leads to what the guide to
// errors says about each of its details, and any other answer to nothing.
func checkHelp(t *testing.T, e http.Handler, rec *httptest.ResponseRecorder) {
	t.Helper()
	var body struct{ Detail any }
	if rec.Code < 400 || json.Unmarshal(rec.Body.Bytes(), &body) != nil {
		if link := rec.Header().Values("Link"); len(link) != 0 {
			t.Errorf("an answer that is no error of the API has the Link %q", link)
		}
		return
	}
	var names, want []string
	switch d := body.Detail.(type) {
	case string:
		names = []string{d}
	case map[string]any:
		names = []string{d["code"].(string)}
	case []any:
		for _, v := range d {
			names = append(names, v.(map[string]any)["type"].(string))
		}
	}
	page := httptest.NewRecorder()
	e.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/docs/errors", nil))
	for _, name := range names {
		id := strings.ToLower(strings.ReplaceAll(name, " ", "-"))
		if !strings.Contains(page.Body.String(), `id="`+id+`"`) {
			t.Errorf("the guide to errors does not explain %q", name)
		}
		if link := fmt.Sprintf(`</docs/errors#%s>; rel="help"`, id); !slices.Contains(want, link) {
			want = append(want, link)
		}
	}
	if got := rec.Header().Values("Link"); len(got) != 1 || got[0] != strings.Join(want, ", ") {
		t.Errorf("Link %q, want %q", got, want)
	}
}

func detail(text string) string { return `{"detail":"` + text + `"}` }

// invalid returns the 422 body for the given violations, each written as "type
// loc loc…".
func invalid(violations ...string) string {
	var entries []string
	for _, v := range violations {
		words := strings.Fields(v)
		entries = append(entries, fmt.Sprintf(`{"loc":["%s"],"msg":"validation failed","type":%q}`,
			strings.Join(words[1:], `","`), words[0]))
	}
	return `{"detail":[` + strings.Join(entries, ",") + `]}`
}

func TestBodies(t *testing.T) {
	const jsonInvalid = "json_invalid body"
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	long := strings.Repeat("k", 100)
	for _, r := range []row{
		{name: "minimal", body: `{"target_age":18}`, status: 201},
		{name: "everything", body: `{"target_age":18,"success_url":"https://a.example/x?y=1#z","cancel_url":"https://a.example"}`, status: 201},
		{name: "integral with a point", body: `{"target_age":18.0}`, status: 201},
		{name: "integral with an exponent", body: `{"target_age":2e1}`, status: 201},
		{name: "fraction", body: `{"target_age":18.5}`, status: 422, want: invalid("int_from_float body target_age")},
		{name: "fraction below the minimum", body: `{"target_age":12.5}`, status: 422,
			want: invalid("int_from_float body target_age")},
		{name: "fraction above the maximum", body: `{"target_age":99.5}`, status: 422,
			want: invalid("int_from_float body target_age")},
		{name: "number in a string", body: `{"target_age":"18"}`, status: 422, want: invalid("int_type body target_age")},
		{name: "null", body: `{"target_age":null}`, status: 422, want: invalid("int_type body target_age")},
		{name: "boolean", body: `{"target_age":true}`, status: 422, want: invalid("int_type body target_age")},
		{name: "array", body: `{"target_age":[18]}`, status: 422, want: invalid("int_type body target_age")},
		{name: "object", body: `{"target_age":{"a":1}}`, status: 422, want: invalid("int_type body target_age")},
		{name: "fraction beyond float64", body: `{"target_age":18.0000000000000000001}`, status: 422,
			want: invalid("int_from_float body target_age")},
		{name: "fraction beyond float64, below", body: `{"target_age":12.99999999999999999999}`, status: 422,
			want: invalid("int_from_float body target_age")},
		{name: "fraction beyond float64, above", body: `{"target_age":99.00000000000000000001}`, status: 422,
			want: invalid("int_from_float body target_age")},
		{name: "fraction beyond float64, exponent", body: `{"target_age":180000000000000000001e-19}`, status: 422,
			want: invalid("int_from_float body target_age")},
		{name: "below", body: `{"target_age":12}`, status: 422, want: invalid("greater_than_equal body target_age")},
		{name: "exponent below", body: `{"target_age":1e1}`, status: 422,
			want: invalid("greater_than_equal body target_age")},
		{name: "lowest", body: `{"target_age":13}`, status: 201},
		{name: "highest", body: `{"target_age":99}`, status: 201},
		{name: "above", body: `{"target_age":100}`, status: 422, want: invalid("less_than_equal body target_age")},
		{name: "far above", body: `{"target_age":9e99}`, status: 422, want: invalid("less_than_equal body target_age")},
		{name: "beyond int64", body: `{"target_age":9223372036854775808}`, status: 422,
			want: invalid("less_than_equal body target_age")},
		{name: "beyond float64", body: `{"target_age":9e999}`, status: 422, want: invalid("less_than_equal body target_age")},
		{name: "far below", body: `{"target_age":-9e999}`, status: 422, want: invalid("greater_than_equal body target_age")},
		{name: "400 digits", body: `{"target_age":` + strings.Repeat("9", 400) + `}`, status: 422,
			want: invalid("less_than_equal body target_age")},
		{name: "negative", body: `{"target_age":-18}`, status: 422, want: invalid("greater_than_equal body target_age")},
		{name: "missing", body: `{}`, status: 422, want: invalid("missing body target_age")},
		{name: "other case is another name", body: `{"Target_Age":18}`, status: 422,
			want: invalid("missing body target_age", "extra_forbidden body Target_Age")},
		{name: "removed field", body: `{"target_age":18,"webhook_url":"https://` + canary + `.example"}`, status: 422,
			want: invalid("extra_forbidden body webhook_url")},
		{name: "mistyped field", body: `{"target_age":18,"sucess_url":"` + canary + `"}`, status: 422,
			want: invalid("extra_forbidden body sucess_url")},
		{name: "long unknown name", body: `{"target_age":18,"` + long + `":1}`, status: 422,
			want: invalid("extra_forbidden body " + long[:64])},
		{name: "long unknown name in characters", body: `{"target_age":18,"` + strings.Repeat("é", 65) + `":1}`, status: 422,
			want: invalid("extra_forbidden body " + strings.Repeat("é", 64))},
		{name: "quoted unknown name", body: `{"target_age":18,"a\"b":1}`, status: 422,
			want: `{"detail":[{"loc":["body","a\"b"],"msg":"validation failed","type":"extra_forbidden"}]}`},
		{name: "url of another type", body: `{"target_age":18,"success_url":1,"cancel_url":null}`, status: 422,
			want: invalid("string_type body cancel_url", "string_type body success_url")},
		{name: "not a url", body: `{"target_age":18,"success_url":"` + canary + `"}`, status: 422,
			want: invalid("url_parsing body success_url")},
		{name: "empty url", body: `{"target_age":18,"success_url":""}`, status: 422,
			want: invalid("url_parsing body success_url")},
		{name: "control character in a url", body: `{"target_age":18,"success_url":"https://a.example/\u000a` + canary + `"}`,
			status: 422, want: invalid("url_parsing body success_url")},
		{name: "backslash in a url", body: `{"target_age":18,"success_url":"https://a.example\\@` + canary + `"}`,
			status: 422, want: invalid("url_parsing body success_url")},
		{name: "long url", body: `{"target_age":18,"success_url":"https://a.example/` + strings.Repeat("a", 2048) + `"}`,
			status: 422, want: invalid("url_too_long body success_url")},
		{name: "several at once", body: `{"target_age":1,"success_url":"` + canary + `","cancel_url":7,"webhook_url":"` +
			canary + `"}`, status: 422,
			want: invalid("string_type body cancel_url", "url_parsing body success_url", "greater_than_equal body target_age",
				"extra_forbidden body webhook_url")},

		{name: "no body", status: 422, header: map[string]string{"Content-Type": "application/json"},
			want: invalid("missing body")},
		{name: "empty stream", body: " ", stream: true, status: 422, want: invalid(jsonInvalid)},
		{name: "stream", body: `{"target_age":18}`, stream: true, status: 201},
		{name: "not json", body: canary, status: 422, want: invalid(jsonInvalid)},
		{name: "unfinished", body: `{"target_age":18`, status: 422, want: invalid(jsonInvalid)},
		{name: "trailing data", body: `{"target_age":18}` + canary, status: 422, want: invalid(jsonInvalid)},
		{name: "second value", body: `{"target_age":18}{}`, status: 422, want: invalid(jsonInvalid)},
		{name: "trailing space", body: "{\"target_age\":18} \n", status: 201},
		{name: "duplicate name", body: `{"target_age":18,"target_age":21}`, status: 422, want: invalid(jsonInvalid)},
		{name: "duplicate name by escape", body: `{"target_age":18,"\u0074arget_age":21}`, status: 422,
			want: invalid(jsonInvalid)},
		{name: "invalid utf-8", body: "{\"target_age\":18,\"success_url\":\"https://a.example/\xff\"}", status: 422,
			want: invalid(jsonInvalid)},
		{name: "lone surrogate", body: `{"target_age":18,"success_url":"https://a.example/\ud83d"}`, status: 422,
			want: invalid(jsonInvalid)},
		{name: "lone surrogate in a name", body: `{"target_age":18,"\udc00":1}`, status: 422, want: invalid(jsonInvalid)},
		{name: "surrogate pair", body: `{"target_age":18,"success_url":"https://a.example/\ud83d\ude00"}`, status: 201},
		{name: "UTF-8 called UTF-16", body: `{"target_age":18}`,
			header: map[string]string{"Content-Type": "application/json; charset=UTF-16"}, status: 422,
			want: invalid(jsonInvalid)},
		{name: "two charsets", body: `{"target_age":18}`,
			header: map[string]string{"Content-Type": "application/json; charset=utf-8; charset=latin1"}, status: 422,
			want: invalid(jsonInvalid)},
		{name: "second content type", body: `{"target_age":18}`,
			header: map[string]string{"Content-Type": "application/json\ntext/plain"}, status: 422, want: invalid(jsonInvalid)},
		{name: "second content type, the same", body: `{"target_age":18}`,
			header: map[string]string{"Content-Type": "application/json\napplication/json"}, status: 422,
			want: invalid(jsonInvalid)},
		{name: "JSON after another content type", body: `{"target_age":18}`,
			header: map[string]string{"Content-Type": "text/plain\napplication/json"}, status: 422, want: invalid(jsonInvalid)},
		{name: "content type that only begins as JSON", body: `{"target_age":18}`,
			header: map[string]string{"Content-Type": "application/jsonx"}, status: 422,
			want: invalid("model_attributes_type body")},
		{name: "other parameters", body: `{"target_age":18}`,
			header: map[string]string{"Content-Type": "application/json;v=1"}, status: 201},
		{name: "UTF-16", body: "{\x00}\x00", header: map[string]string{"Content-Type": "application/json; charset=utf-16"},
			status: 422, want: invalid(jsonInvalid)},
		{name: "compressed", body: "\x1f\x8b\x08", header: map[string]string{"Content-Encoding": "gzip"}, status: 422,
			want: invalid(jsonInvalid)},
		{name: "byte order mark", body: "\ufeff{\"target_age\":18}", status: 422, want: invalid(jsonInvalid)},
		{name: "NaN", body: `{"target_age":NaN}`, status: 422, want: invalid(jsonInvalid)},
		{name: "comment", body: `{"target_age":18 /* c */}`, status: 422, want: invalid(jsonInvalid)},
		{name: "deep", body: deep, status: 422, want: invalid(jsonInvalid)},
		{name: "null root", body: `null`, status: 422, want: invalid("model_attributes_type body")},
		{name: "array root", body: `[]`, status: 422, want: invalid("model_attributes_type body")},
		{name: "string root", body: `"` + canary + `"`, status: 422, want: invalid("model_attributes_type body")},
		{name: "number root", body: `18`, status: 422, want: invalid("model_attributes_type body")},
		{name: "form", body: "target_age=18", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
			status: 422, want: invalid("model_attributes_type body")},
		{name: "no content type", body: `{"target_age":18}`, header: map[string]string{"Content-Type": ""}, status: 422,
			want: invalid("model_attributes_type body")},
		{name: "foreign content type", body: `{"target_age":18}`, header: map[string]string{"Content-Type": "text/" + canary},
			status: 422, want: invalid("model_attributes_type body")},
		{name: "charset", body: `{"target_age":18}`,
			header: map[string]string{"Content-Type": "Application/JSON; charset=utf-8"}, status: 201},
		{name: "alias of the charset", body: `{"target_age":18}`,
			header: map[string]string{"Content-Type": `application/json; charset="UTF8"`}, status: 201},
	} {
		r.run(t)
	}
}

// A violation in a known member is reported no matter how many unknown members
// there are.
func TestManyViolationsAreCapped(t *testing.T) {
	var body strings.Builder
	want := []string{"greater_than_equal body target_age"}
	for i := range 7000 {
		fmt.Fprintf(&body, `"%04d":1,`, i)
		if i < 49 {
			want = append(want, fmt.Sprintf("extra_forbidden body %04d", i))
		}
	}
	row{name: "7,000", body: "{" + body.String() + `"target_age":1}`, status: 422, want: invalid(want...)}.run(t)
}

func TestParameters(t *testing.T) {
	create := `{"target_age":18}`
	lookup := func(name, id string, status int, want string) row {
		return row{name: name, method: "GET", path: "/api/v1/sessions/" + id + "/status", status: status, want: want}
	}
	badID := invalid("uuid_parsing path session_id")
	for _, r := range []row{
		lookup("lower case", sessionID, 200, `{"status":"PENDING","status_at":"1970-01-01T00:00:00Z"}`),
		lookup("upper case", strings.ToUpper(sessionID), 200, ""),
		lookup("escaped letter", "%30"+sessionID[1:], 200, ""),
		lookup("escaped slash", "a%2F"+canary, 422, badID),
		lookup("empty", "", 422, badID),
		lookup("word", canary, 422, badID),
		lookup("short", sessionID[:35], 422, badID),
		lookup("bare digits", strings.ReplaceAll(sessionID, "-", ""), 422, badID),
		lookup("braces", "%7B"+sessionID+"%7D", 422, badID),
		lookup("urn", "urn:uuid:"+sessionID, 422, badID),
		lookup("hyphens elsewhere", "0190c0de5-a3b-7c1d-9e2f-4b6a8d0c1e3f", 422, badID),
		lookup("not hexadecimal", "g"+sessionID[1:], 422, badID),
		lookup("escaped newline", sessionID+"%0A", 422, badID),
		{name: "query is ignored", method: "GET", path: statusPath + "?x=" + canary, status: 200},
		{name: "age in lower case", method: "GET", path: "/api/v1/sessions/" + strings.ToUpper(sessionID) + "/detected-age",
			status: 200,
			want:   `{"availability":"pending","detected_age":null,"session_id":"` + sessionID + `"}`},
		{name: "body on a lookup", method: "GET", path: statusPath, body: canary, status: 200},
		{name: "foreign body on a lookup", method: "GET", path: statusPath, body: "\xff" + canary,
			header: map[string]string{"Content-Type": "x; ;" + canary}, status: 200},
		{name: "stream on a lookup", method: "GET", path: statusPath, body: canary, stream: true, status: 200},
		{name: "huge body on a lookup", method: "GET", path: statusPath, body: strings.Repeat("x", 64<<10+1), status: 413,
			want: detail("Request body too large")},

		{name: "idempotency key", body: create, header: map[string]string{"Idempotency-Key": "a,b;\"c\"%20!~"}, status: 201},
		{name: "space in an idempotency key", body: create, header: map[string]string{"Idempotency-Key": "a " + canary},
			status: 422,
			want:   invalid("string_pattern_mismatch header Idempotency-Key")},
		{name: "longest idempotency key", body: create,
			header: map[string]string{"Idempotency-Key": strings.Repeat("k", 255)}, status: 201},
		{name: "long idempotency key", body: create, header: map[string]string{"Idempotency-Key": strings.Repeat(canary, 50)},
			status: 422,
			want:   invalid("string_too_long header Idempotency-Key")},
		{name: "idempotency key not ASCII", body: create, header: map[string]string{"Idempotency-Key": "é" + canary},
			status: 422,
			want:   invalid("string_pattern_mismatch header Idempotency-Key")},
		{name: "two idempotency keys", body: create,
			header: map[string]string{"Idempotency-Key": canary + "1\n" + canary + "2"}, status: 422,
			want: invalid("value_error header Idempotency-Key")},
		{name: "header and body", body: `{}`, header: map[string]string{"Idempotency-Key": "é"}, status: 422,
			want: invalid("string_pattern_mismatch header Idempotency-Key", "missing body target_age")},
	} {
		r.run(t)
	}
}

func TestEmptyIdempotencyKey(t *testing.T) {
	e, _ := newEdge(t, &stub{}, nil)
	req := row{body: `{"target_age":18}`}.request()
	req.Header["Idempotency-Key"] = []string{""}
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, req)
	if got := strings.TrimSpace(rec.Body.String()); rec.Code != 422 ||
		got != invalid("string_too_short header Idempotency-Key") {
		t.Errorf("got %d %s", rec.Code, got)
	}
}

func TestOrderOfChecks(t *testing.T) {
	huge := `{"target_age":"` + strings.Repeat("x", 64<<10) + `"}`
	key := func(k string) map[string]string { return map[string]string{"X-API-Key": k} }
	for _, r := range []row{
		{name: "size before key", header: key(""), body: huge, status: 413, want: detail("Request body too large")},
		{name: "size of a stream before key", header: key(""), body: huge, stream: true, status: 413,
			want: detail("Request body too large")},
		{name: "largest body", body: `{"target_age":18}` + strings.Repeat(" ", 64<<10-17), status: 201},
		{name: "key before body", header: key(""), body: canary, status: 401, want: detail("Missing or malformed API key")},
		{name: "bad key before body", header: key("svc_test_" + canary), body: canary, status: 401,
			want: detail("Invalid API key")},
		{name: "tenant before body", header: key("svc_test_disabled"), body: canary, status: 403,
			want: detail("Tenant disabled")},
		{name: "key before path", header: key(canary), method: "GET", path: "/api/v1/sessions/x/status", status: 401,
			want: detail("Missing or malformed API key")},
		{name: "tenant before path", header: key("svc_test_disabled"), method: "GET", path: "/api/v1/sessions/x/detected-age",
			status: 403, want: detail("Tenant disabled")},
	} {
		r.run(t)
	}
}

func TestUndocumented(t *testing.T) {
	for _, r := range []row{
		{name: "unknown path", method: "GET", path: "/api/v1/" + canary, status: 404, want: detail("Not Found")},
		{name: "prefix alone", method: "GET", path: "/api", status: 404, want: detail("Not Found")},
		{name: "escaped path", path: "/api/v1/sessions/%63reate", body: "{}", status: 404, want: detail("Not Found")},
		{name: "escaped prefix", path: "/%61pi/v1/sessions/create", body: "{}", status: 404, want: detail("Not Found")},
		{name: "other version", path: "/api/v2/sessions/create", body: "{}", status: 404, want: detail("Not Found")},
		{name: "trailing slash", path: createPath + "/", body: "{}", status: 404, want: detail("Not Found")},
		{name: "wrong method", method: "GET", path: createPath, status: 405, want: detail("Method Not Allowed")},
		{name: "wrong method on a lookup", path: statusPath, body: "{}", status: 405, want: detail("Method Not Allowed")},
		{name: "invented method", method: strings.ToUpper(canary), path: statusPath, status: 405,
			want: detail("Method Not Allowed")},
		{name: "prefix in another case", method: "GET", path: "/API/v1/" + canary, status: 404, want: detail("Not Found")},
		{name: "operation in another case", path: "/Api/V1/sessions/create", body: "{}", status: 404,
			want: detail("Not Found")},
		{name: "doubled slash", method: "GET", path: "//api/v1/" + canary, status: 404, want: detail("Not Found")},
		{name: "doubled slash before an operation", path: "//api/v1/sessions/create", body: "{}", status: 404,
			want: detail("Not Found")},
		{name: "tripled slash", method: "GET", path: "///API//" + canary, status: 404, want: detail("Not Found")},
		{name: "a name that only begins like the API's", method: "GET", path: "/apix", status: 404, want: "Not Found"},
		{name: "outside the API", method: "GET", path: "/" + canary, status: 404, want: "Not Found"},
	} {
		r.run(t)
	}
	for _, tt := range []struct{ method, path, allow string }{
		{"OPTIONS", createPath, "POST"}, {"GET", createPath, "POST"}, {"HEAD", statusPath, "GET"},
		{"TRACE", statusPath, "GET"},
		{"POST", "/openapi.yaml", "GET, HEAD"}, {"OPTIONS", "/openapi.yaml", "GET, HEAD"},
	} {
		e, _ := newEdge(t, &stub{}, nil)
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, httptest.NewRequest(tt.method, tt.path, nil))
		if allow := rec.Header().Get("Allow"); rec.Code != 405 || allow != tt.allow {
			t.Errorf("%s %s: got %d, Allow %q, want %q", tt.method, tt.path, rec.Code, allow, tt.allow)
		}
	}
}
