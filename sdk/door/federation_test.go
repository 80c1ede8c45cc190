package door

import (
	"net/http"
	"testing"
)

// TestFederation: other servers reach what is for them, and the same address needs a pass
// for browsers, and for clients that accept a page as well.
func TestFederation(t *testing.T) {
	t.Parallel()
	cfg := newTestDoor(t, map[string]string{"DOOR_FREE": "/.well-known/webfinger?resource, POST /inbox [Signature], " +
		"/users [application/activity+json application/ld+json], /secure [application/activity+json Signature]"}).cfg
	const activity, ld = "application/activity+json", `application/ld+json; profile="https://www.w3.org/ns/activitystreams"`
	for _, tt := range []struct {
		method, target, accept, signature string
		needs                             bool
	}{
		{"GET", "/.well-known/webfinger?resource=acct:a@b.example", "*/*", "", false},
		{"GET", "/users/a", activity, "", false},
		{"GET", "/users/a", activity + ", " + ld, "", false},
		{"GET", "/users/a", "Application/Activity+JSON;q=0.9", "", false},
		{"HEAD", "/users/a", ld, "", false},
		{"GET", "/users/a", "text/html", "", true},
		{"GET", "/users/a", activity + ", text/html", "", true},
		{"GET", "/users/a", activity + ", */*;q=0.1", "", true},
		{"GET", "/users/a", "*/*", "", true},
		{"GET", "/users/a", "", "", true},
		{"GET", "/users/a?page=1", activity, "", true},
		{"POST", "/users/a", activity, "", true},
		{"GET", "/usersx", activity, "", true},
		{"POST", "/inbox", activity, "", true},
		{"POST", "/inbox", activity, "sig1=:AAAA:", false},
		{"GET", "/inbox", activity, "sig1=:AAAA:", true},
		{"GET", "/secure/a", activity, "", true},
		{"GET", "/secure/a", activity, `keyId="a"`, false},
		{"GET", "/secure/a", "text/html", `keyId="a"`, true},
	} {
		header := http.Header{}
		for name, value := range map[string]string{"Accept": tt.accept, "Signature": tt.signature} {
			if value != "" {
				header.Set(name, value)
			}
		}
		if got := cfg.needsPass(tt.method, tt.target, header); got != tt.needs {
			t.Errorf("%s %s for %q, signature %q: needs a pass: %v", tt.method, tt.target, tt.accept, tt.signature, got)
		}
	}
	two := http.Header{"Accept": {activity, "text/html"}}
	if !cfg.needsPass(http.MethodGet, "/users/a", two) {
		t.Error("a page is accepted by a second header")
	}
}
