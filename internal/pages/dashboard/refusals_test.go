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
		{Status: 409, Type: "conflict.event-has-no-destination"}:                 "event-has-no-destination",
		{Status: 404, Type: "not_found.event-not-found"}:                         "event-not-found",
		{Status: 402, Type: "insufficient_credit.no-check"}:                      "insufficient_credit",
		{Status: 429, Type: "too_many.too-many-requests-are-waiting-for-events"}: "too-many-requests-are-waiting-for-events",
		{Status: 403, Type: "tenant_disabled.tenant-disabled"}:                   "tenant-disabled",
		{Status: 401, Type: "invalid_key.invalid-api-key"}:                       "invalid-api-key",
		{Status: 400, Type: "bad_request"}:                                       "bad-request",
		{Status: 422, Type: "uuid_parsing"}:                                      "uuid_parsing",
		{Status: 422, Type: "value_error.userinfo"}:                              "value_error",
	} {
		if got := headingOf(refused); got != "#"+want {
			t.Errorf("%s leads to %s, want %s", refused.Type, got, want)
		}
		if !strings.Contains(string(guide), `id="`+want+`"`) {
			t.Errorf("the guide has no heading %s", want)
		}
	}
	if got := headingOf(insight.Refusal{Type: `"><script>`}); got != "" {
		t.Errorf("what is no type becomes %q", got)
	}
}
