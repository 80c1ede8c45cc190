package conformance

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// noEvent is the ID of an event that does not exist.
const noEvent = "evt_0190c0de-0000-7000-8000-00000000dead"

// nobody is the ID of a session that does not exist.
const nobody = "0190c0de-0000-7000-8000-00000000dead"

// operations holds a valid request for each operation, without a key. They create
// no session, because none is sent with a valid key.
var operations = []call{
	{operation: createSession, body: `{"target_age":18}`},
	{operation: getSessionStatus, session: nobody},
	{operation: getDetectedAge, session: nobody},
	{operation: listTestEvents},
	{operation: resendTestEvent, event: noEvent},
	{operation: moveTestClock, session: nobody, body: `{"expire":"session"}`},
}

var documentCases = []testCase{
	{
		Name: "document.published", Title: "The contract is published in four editions, with the operations of this suite",
		Cites: []string{"openapi.yaml Quick start"},
		run: func(t *trial) {
			for _, name := range []string{"/openapi.yaml", "/openapi.json", "/openapi-3.0.yaml", "/openapi-3.0.json"} {
				got := t.open(t.api, t.BaseURL+name)
				if !t.check(got.status == http.StatusOK, "%s answers %d, want 200", name, got.status) {
					continue
				}
				doc, err := openapi3.NewLoader().LoadFromData(got.body)
				if !t.check(err == nil, "%s is not an OpenAPI document", name) {
					continue
				}
				made := doc.Paths.Value(t.contract.operation(createSession).path)
				t.check(bytes.Contains(got.body, []byte("webhooks")) && (!strings.Contains(name, "3.0") || made != nil &&
					made.Post != nil && len(made.Post.Callbacks) > 0), "%s does not describe the webhook", name)
				for _, op := range t.contract.operations {
					item := doc.Paths.Value(op.path)
					t.check(item != nil && item.GetOperation(op.method) != nil, "%s lacks %s %s", name, op.method, op.path)
				}
			}
		},
	},
	{
		Name: "document.examples", Title: "Every example of the published contract satisfies its schema",
		Cites: []string{"openapi.yaml Errors", "SPEC 7"},
		run: func(t *trial) {
			doc, err := openapi3.NewLoader().LoadFromData(t.open(t.api, t.BaseURL+"/openapi.yaml").body)
			if err != nil {
				t.fatalf("/openapi.yaml is not an OpenAPI document")
			}
			err = doc.Validate(t.ctx, openapi3.EnableExamplesValidation())
			t.check(err == nil, "the document does not validate")
		},
	},
	{
		Name: "api.unknown_path", Title: `An unknown path under /api/ is 404 {"detail":"Not Found"}`,
		Cites: []string{"openapi.yaml Errors", "SPEC 9"},
		run: func(t *trial) {
			for _, path := range []string{"/api/v1/sessions/create/more", "/api/v1/" + nobody, "/api/v2/sessions/create"} {
				t.plain(http.MethodGet, path, http.StatusNotFound, `{"detail":"Not Found"}`)
			}
			for _, path := range []string{"/api/v1/sessions/create/", "/api/v1/Sessions/create"} {
				t.plain(http.MethodPost, path, http.StatusNotFound, `{"detail":"Not Found"}`)
			}
		},
	},
	{
		Name: "api.wrong_method", Title: `A wrong method is 405 {"detail":"Method Not Allowed"}`,
		Cites: []string{"openapi.yaml Errors"},
		run: func(t *trial) {
			const refused = `{"detail":"Method Not Allowed"}`
			t.plain(http.MethodGet, "/api/v1/sessions/create", http.StatusMethodNotAllowed, refused)
			t.plain(http.MethodDelete, "/api/v1/sessions/"+nobody+"/status", http.StatusMethodNotAllowed, refused)
			t.plain(http.MethodPost, "/api/v1/sessions/"+nobody+"/detected-age", http.StatusMethodNotAllowed, refused)
		},
	},
}

// plain sends a request to a path that the contract does not describe.
func (t *trial) plain(method, path string, status int, body string) {
	req, err := http.NewRequestWithContext(t.ctx, method, t.BaseURL+path, nil)
	if err != nil {
		t.fatalf("%s %s: %v", method, path, err)
	}
	req.Header["X-Api-Key"] = t.test
	req.Header.Set("X-HTTP-Method-Override", http.MethodPost) // which means nothing
	got, err := t.do(t.api, req)
	if err != nil {
		t.fatalf("%s %s is not answered: %v", method, path, err)
	}
	t.check(got.status == status && string(bytes.TrimSpace(got.body)) == body, "%s %s answers %s, want %d %s", method,
		path, got, status, body)
	t.check(got.header.Get("X-Request-ID") != "", "%s %s is answered without X-Request-ID", method, path)
}

var authenticationCases = []testCase{
	{
		Name: "auth.missing", Title: "Without a key, or with one of no recognized prefix, every operation is 401 Missing " +
			"or malformed API key",
		Cites: []string{"SPEC 5 rule 2", "SPEC 7", "openapi.yaml Unauthorized"},
		run: func(t *trial) {
			for _, c := range operations {
				for _, keys := range [][]string{nil, {""}, {canary}, {"svc_" + canary}, {strings.ToUpper(t.TestKey)},
					{"Bearer " + t.TestKey}, {t.TestKey, t.TestKey}} {
					c.keys = keys
					t.expect(c, http.StatusUnauthorized, "missing")
				}
			}
		},
	},
	{
		Name: "auth.invalid", Title: "A key that is unknown or damaged is 401 Invalid API key",
		Cites: []string{"SPEC 5 rule 2", "SPEC 7", "openapi.yaml Unauthorized"},
		run: func(t *trial) {
			last := t.TestKey[len(t.TestKey)-1]
			damaged := t.TestKey[:len(t.TestKey)-1] + string('0'+(last+1)%10)
			otherMode := strings.Replace(t.TestKey, "svc_test_", "svc_live_", 1)
			for _, c := range operations {
				for _, key := range []string{"svc_test_", "svc_test_" + canary, damaged, otherMode, t.TestKey + "0", t.TestKey +
					"=", t.TestKey + "," + canary, t.TestKey + " " + canary, t.TestKey + t.TestKey,
					"svc_test_0123456789ABCDEFGHIJKLMNOPQRSTUV2nuRgb"} {
					c.keys = []string{key}
					t.expect(c, http.StatusUnauthorized, "invalid")
				}
			}
		},
	},
	{
		Name: "auth.revoked", Title: "A revoked key is 401 Invalid API key", needs: []need{needRevoked},
		Cites: []string{"SPEC 5 rule 2", "SPEC 7", "openapi.yaml Unauthorized"},
		run: func(t *trial) {
			for _, c := range operations {
				c.keys = []string{t.RevokedKey}
				t.expect(c, http.StatusUnauthorized, "invalid")
			}
		},
	},
	{
		Name: "auth.disabled", Title: "A key of a disabled tenant is 403 Tenant disabled on every operation",
		needs: []need{needDisabled},
		Cites: []string{"SPEC 5 rule 2", "SPEC 7", "openapi.yaml TenantDisabled"},
		run: func(t *trial) {
			for _, c := range operations {
				c.keys = []string{t.DisabledKey}
				t.expect(c, http.StatusForbidden, "disabled")
			}
			t.expect(call{operation: createSession, keys: []string{t.DisabledKey}, body: `{`}, http.StatusForbidden, "disabled")
			t.expect(call{operation: getSessionStatus, keys: []string{t.DisabledKey}, session: canary}, http.StatusForbidden,
				"disabled")
		},
	},
	{
		Name: "auth.first", Title: "The key is checked before the request: an invalid request without a key is 401",
		Cites: []string{"openapi.yaml createSession (order of checks)", "SPEC 7"},
		run: func(t *trial) {
			t.expect(call{operation: createSession, body: `{"webhook_url":"` + canary + `"`}, http.StatusUnauthorized, "missing")
			t.expect(call{operation: getSessionStatus, session: "not-a-uuid"}, http.StatusUnauthorized, "missing")
			t.expect(call{operation: getDetectedAge, session: "not-a-uuid", keys: []string{"svc_test_"}},
				http.StatusUnauthorized, "invalid")
		},
	},
	{
		Name: "auth.header_only", Title: "A key in the query string or in another header does not count",
		Cites: []string{"SPEC 5 rule 1", "openapi.yaml Authentication"},
		run: func(t *trial) {
			basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(t.TestKey+":"))
			for _, c := range []call{
				{header: http.Header{"Authorization": {"Bearer " + t.TestKey}}}, {header: http.Header{"Authorization": {basic}}},
				{query: "?api_key=" + t.TestKey}, {query: "?key=" + t.TestKey}, {query: "?X-API-Key=" + t.TestKey},
			} {
				c.operation, c.session = getSessionStatus, nobody
				t.expect(c, http.StatusUnauthorized, "missing")
			}
		},
	},
}
