package dashboard

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"agegate/internal/backoffice/insight"
	"agegate/internal/edge/reference"
)

// TestHeadingOf: each refusal leads to its detail in the guide.
func TestHeadingOf(t *testing.T) {
	const create, status = "POST /api/v1/sessions/create", "GET /api/v1/sessions/:session_id/status"
	e := echo.New()
	docs, err := reference.New(reference.Config{})
	if err != nil {
		t.Fatal(err)
	}
	docs.Register(e)
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/docs/errors", nil))
	guide, err := io.ReadAll(rec.Body)
	if err != nil || rec.Code != http.StatusOK {
		t.Fatalf("the guide: %d %v", rec.Code, err)
	}
	if !strings.Contains(string(guide), `id="401"`) {
		t.Error("the guide has no part about keys, to which the page of refusals leads")
	}
	for refused, want := range map[insight.Refusal]string{
		{Route: create, Type: "conflict"}:            "idempotency-key-reused-with-a-different-request",
		{Route: status, Type: "conflict"}:            "session-completion-timestamp-missing",
		{Route: status, Type: "not_found"}:           "session-not-found",
		{Route: create, Type: "insufficient_credit"}: "insufficient_credit",
		{Route: create, Type: "too_many"}:            "test-session-daily-cap-reached",
		{Route: create, Type: "tenant_disabled"}:     "tenant-disabled",
		{Route: create, Type: "invalid_key"}:         "invalid-api-key",
		{Route: create, Type: "bad_request"}:         "bad-request",
		{Route: status, Type: "uuid_parsing"}:        "uuid_parsing",
	} {
		if got := headingOf(refused); got != "#"+want {
			t.Errorf("%s %s leads to %s, want %s", refused.Route, refused.Type, got, want)
		}
		if !strings.Contains(string(guide), `id="`+want+`"`) {
			t.Errorf("the guide has no heading %s", want)
		}
	}
	if got := headingOf(insight.Refusal{Type: `"><script>`}); got != "" {
		t.Errorf("what is no type becomes %q", got)
	}
}
