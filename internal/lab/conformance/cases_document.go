package conformance

import (
	"bytes"
	"encoding/base64"
	"fmt"
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
	{operation: createSession, keys: keyless, body: adult},
	{operation: getSessionStatus, keys: keyless, session: nobody},
	{operation: getDetectedAge, keys: keyless, session: nobody},
	{operation: listTestEvents, keys: keyless},
	{operation: resendTestEvent, keys: keyless, event: noEvent},
	{operation: moveTestClock, keys: keyless, session: nobody, body: `{"expire":"session"}`},
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
			t.refuses(http.MethodGet, http.StatusNotFound, "Not Found", "/api/v1/sessions/create/more", "/api/v1/"+nobody,
				"/api/v2/sessions/create")
			t.refuses(http.MethodPost, http.StatusNotFound, "Not Found", "/api/v1/sessions/create/", "/api/v1/Sessions/create")
		},
	},
	{
		Name: "api.wrong_method", Title: `A wrong method is 405 {"detail":"Method Not Allowed"}`,
		Cites: []string{"openapi.yaml Errors"},
		run: func(t *trial) {
			for path, method := range map[string]string{
				"/api/v1/sessions/create": http.MethodGet, "/api/v1/sessions/" + nobody + "/status": http.MethodDelete,
				"/api/v1/sessions/" + nobody + "/detected-age": http.MethodPost,
			} {
				t.refuses(method, http.StatusMethodNotAllowed, "Method Not Allowed", path)
			}
		},
	},
	{
		Name: "auth.missing", Title: "Without a key, or with one of no recognized prefix, every operation is 401 Missing " +
			"or malformed API key",
		Cites: []string{"SPEC 5 rule 2", "SPEC 7", "openapi.yaml Unauthorized"},
		run: func(t *trial) {
			t.everywhere("401 missing", keyless, []string{""}, []string{canary}, []string{"svc_" + canary},
				[]string{strings.ToUpper(t.TestKey)}, []string{"Bearer " + t.TestKey}, []string{t.TestKey, t.TestKey})
		},
	},
	{
		Name: "auth.invalid", Title: "A key that is unknown or damaged is 401 Invalid API key",
		Cites: []string{"SPEC 5 rule 2", "SPEC 7", "openapi.yaml Unauthorized"},
		run: func(t *trial) {
			last := t.TestKey[len(t.TestKey)-1]
			damaged := t.TestKey[:len(t.TestKey)-1] + string('0'+(last+1)%10)
			otherMode := strings.Replace(t.TestKey, "svc_test_", "svc_live_", 1)
			for _, key := range []string{"svc_test_", "svc_test_" + canary, damaged, otherMode, t.TestKey + "0", t.TestKey +
				"=", t.TestKey + "," + canary, t.TestKey + " " + canary, t.TestKey + t.TestKey,
				"svc_test_0123456789ABCDEFGHIJKLMNOPQRSTUV2nuRgb"} {
				t.everywhere("401 invalid", []string{key})
			}
		},
	},
	{
		Name: "auth.revoked", Title: "A revoked key is 401 Invalid API key", needs: []*need{needRevoked},
		Cites: []string{"SPEC 5 rule 2", "SPEC 7", "openapi.yaml Unauthorized"},
		run:   func(t *trial) { t.everywhere("401 invalid", []string{t.RevokedKey}) },
	},
	{
		Name: "auth.disabled", Title: "A key of a disabled tenant is 403 Tenant disabled on every operation",
		needs: []*need{needDisabled},
		Cites: []string{"SPEC 5 rule 2", "SPEC 7", "openapi.yaml TenantDisabled"},
		run: func(t *trial) {
			t.everywhere("403 disabled", []string{t.DisabledKey})
			t.expect(creation("{").by(t.DisabledKey), "403 disabled")
			t.expect(lookup(canary).by(t.DisabledKey), "403 disabled")
		},
	},
	{
		Name: "auth.first", Title: "The key is checked before the request: an invalid request without a key is 401",
		Cites: []string{"openapi.yaml createSession (order of checks)", "SPEC 7"},
		run: func(t *trial) {
			t.expect(call{operation: createSession, keys: keyless, body: `{"webhook_url":"` + canary + `"`}, "401 missing")
			t.expect(call{operation: getSessionStatus, keys: keyless, session: "not-a-uuid"}, "401 missing")
			t.expect(call{operation: getDetectedAge, session: "not-a-uuid"}.by("svc_test_"), "401 invalid")
		},
	},
	{
		Name: "auth.header_only", Title: "A key in the query string or in another header does not count",
		Cites: []string{"SPEC 5 rule 1", "openapi.yaml Authentication"},
		run: func(t *trial) {
			c := call{operation: getSessionStatus, keys: keyless, session: nobody}
			basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(t.TestKey+":"))
			for _, value := range []string{"Bearer " + t.TestKey, basic} {
				t.expect(c.with("Authorization", value), "401 missing")
			}
			for _, name := range []string{"api_key", "key", "X-API-Key"} {
				c.query = "?" + name + "=" + t.TestKey
				t.expect(c, "401 missing")
			}
		},
	},
}

// plain sends a request without a body to a path, in a way that the contract does not
// describe.
func (t *trial) plain(method, path string) answer {
	got, err := t.request(t.api, method, t.BaseURL+path, http.Header{
		"X-Api-Key": t.test, "X-HTTP-Method-Override": {http.MethodPost}, // which means nothing
	}, nil)
	if err != nil {
		t.fatalf("%s %s is not answered: %v", method, path, err)
	}
	t.check(got.header.Get("X-Request-ID") != "", "%s %s is answered without X-Request-ID", method, path)
	return got
}

// refuses checks that plain requests get a status and a detail.
func (t *trial) refuses(method string, status int, detail string, paths ...string) {
	for _, path := range paths {
		got, body := t.plain(method, path), fmt.Sprintf(`{"detail":%q}`, detail)
		t.check(got.status == status && string(bytes.TrimSpace(got.body)) == body, "%s %s answers %s, want %d %s", method,
			path, got, status, body)
	}
}

// everywhere checks that each operation answers with an example under each of the keys.
func (t *trial) everywhere(example string, keys ...[]string) {
	for _, c := range operations {
		for _, c.keys = range keys {
			t.expect(c, example)
		}
	}
}
