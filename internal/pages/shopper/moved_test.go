package shopper

import (
	"crypto/rand"
	"io"
	"net/http"
	"strings"
	"testing"

	"agegate/internal/backoffice/move"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
)

// The pages of a tenant that has left wait, and lead to its new place once that is
// known. A form is answered with a page instead, whose link leads there.
func TestPagesOfATenantThatMoved(t *testing.T) {
	f := newFixture(t, tenant.Tenant{DocumentCheck: true}, scripted(stepBegun))
	shopper, phone := f.browser(), f.browser()
	begun, phoneLink, _ := f.handedOver(shopper, true)
	fresh := f.session(false)
	moves, actor := move.NewService(f.db, f.sealer, rand.Reader, f.clock), audit.System("test")
	_, err := moves.Export(t.Context(), actor, f.tenant.ID, "https://old.example", "correct horse battery", io.Discard)
	must(t, err)
	shopper.get(begun).shows(t, http.StatusServiceUnavailable, "notice-busy")
	must(t, moves.Forward(t.Context(), actor, f.tenant.ID, "https://new.example:8443"))

	for _, link := range []string{begun, begun + "/camera", begun + "/stream", begun + "/handover/state", fresh, fresh +
		"?force=verified", fresh + "/document", phoneLink, phoneLink + "/stream"} {
		a := phone.get(link)
		to := "https://new.example:8443" + strings.TrimPrefix(link, f.server.URL)
		if a.StatusCode != http.StatusTemporaryRedirect || a.Header.Get("Location") != to ||
			a.Header.Get("Referrer-Policy") != "no-referrer" || len(a.Cookies()) > 0 {
			t.Errorf("%s leads with %d to %q", link, a.StatusCode, a.Header.Get("Location"))
		}
	}
	for _, path := range []string{"/start", "/document"} {
		a := shopper.post(fresh+path, nil)
		a.shows(t, http.StatusServiceUnavailable, "notice-busy")
		if !strings.Contains(a.body, `href="."`) {
			t.Errorf("%s: the page has no link back:\n%s", path, a.body)
		}
	}
	shopper.get(f.server.URL+"/v/unknown").shows(t, http.StatusNotFound, "notice-unknown")
	must(t, moves.Stay(t.Context(), actor, f.tenant.ID))
	if a := shopper.get(begun); a.StatusCode != http.StatusOK || !strings.Contains(a.body, `id="camera"`) {
		t.Errorf("the tenant that stays shows %d:\n%s", a.StatusCode, a.body)
	}
}
