package security

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/webhook"
	"agegate/proof/table"

	"github.com/google/uuid"
)

// A stranger's request for another tenant's session must be answered byte for
// byte like one for a session that does not exist.
func TestForeignSessionsLookMissing(t *testing.T) {
	table.Beside(t)
	onEach(t, "Foreign sessions against missing ones", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		receiver := gatewaytest.NewReceiver(t)
		owner, stranger := g.Shop(t, receiver.URL, consenting), g.Shop(t, "", consenting)
		client := newWire(t, g.URL)
		var told, opened []string
		count := 0
		for _, key := range []string{owner.Test.APIKey, owner.Live.APIKey} {
			for _, state := range []string{"PENDING", "PASSED", "FALLBACK", "SPOOF", "EXPIRED"} {
				id := sessionIn(t, g, key, state)
				missing := uuid.Must(uuid.NewV7()).String()
				for _, spelled := range []func(string) string{strings.ToLower, strings.ToUpper} {
					for _, operation := range []string{"status", "detected-age"} {
						for _, foreign := range []string{stranger.Test.APIKey, stranger.Live.APIKey} {
							path := func(id string) string { return "/api/v1/sessions/" + spelled(id) + "/" + operation }
							theirs, none := lookUp(t, client, path(id), foreign), lookUp(t, client, path(missing), foreign)
							count++
							if theirs != none {
								told = append(told, state+" "+operation+": "+theirs)
							}
							if !strings.Contains(theirs, "404 Not Found") {
								opened = append(opened, state+" "+operation+": "+theirs)
							}
						}
					}
				}
			}
		}
		r.Didf("%d pairs of look-ups", count)
		r.None("answers that differ from those of a missing session", told)
		r.None("answers other than 404", opened)
		r.None("foreign events that differ from missing ones", foreignEvents(t, g, owner.Test.APIKey, stranger.Tenant.ID))
	})
}

// sessionIn creates a test or live session in a state.
func sessionIn(t *testing.T, g *gatewaytest.Gateway, key, state string) string {
	t.Helper()
	s := g.Create(t, key, 18)
	switch outcome := map[string]string{"PASSED": "verified", "SPOOF": "spoof", "FALLBACK": "fallback"}[state]; {
	case outcome != "":
		g.Exec(t, fmt.Sprintf("UPDATE sessions SET status = '%s', completed_at = created_at WHERE id = '%s'", state,
			s.SessionID))
	case state == "EXPIRED":
		g.Exec(t, fmt.Sprintf("UPDATE sessions SET status = '%s' WHERE id = '%s'", state, s.SessionID))
	}
	return s.SessionID
}

// lookUp returns the whole answer except its date and request ID.
func lookUp(t *testing.T, client *wire, path, key string) string {
	t.Helper()
	got := client.insist(t, request{method: http.MethodGet, target: path,
		header: []string{"Host: gateway.example", "X-API-Key: " + key}})
	var kept []string
	for line := range strings.Lines(got.raw) {
		if !strings.HasPrefix(line, "Date:") && !strings.HasPrefix(line, "X-Request-Id:") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// foreignEvents asks the services of the operator's commands for another tenant's
// deliveries.
func foreignEvents(t *testing.T, g *gatewaytest.Gateway, ownerKey string, stranger uuid.UUID) (told []string) {
	t.Helper()
	g.Force(t, gatewaytest.Browser(), g.Create(t, ownerKey, 18), "verified")
	ops := webhook.NewOperations(g.App.Store, g.Clock.Now, nil)
	events, err := ops.Events(t.Context(), webhook.Filter{Scope: webhook.OfAll(), Limit: 1})
	if err != nil || len(events) != 1 {
		t.Fatal(len(events), err)
	}
	id := "evt_" + uuid.Must(uuid.NewV7()).String()
	for _, e := range events {
		_, _, theirs := ops.EventByID(t.Context(), webhook.OfTenant(stranger), e.ID)
		_, _, none := ops.EventByID(t.Context(), webhook.OfTenant(stranger), id)
		if theirs == nil || none == nil || theirs.Error() != none.Error() {
			told = append(told, fmt.Sprintf("show: %v, %v", theirs, none))
		}
		theirs, none = ops.ResendEvent(t.Context(), audit.System("test"), webhook.OfTenant(stranger), e.ID),
			ops.ResendEvent(t.Context(), audit.System("test"), webhook.OfTenant(stranger), id)
		if theirs == nil || none == nil || theirs.Error() != none.Error() {
			told = append(told, fmt.Sprintf("resend: %v, %v", theirs, none))
		}
	}
	return told
}
