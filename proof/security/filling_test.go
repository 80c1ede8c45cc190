package security

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/proof/table"
)

// TestTestKeyFillsTheLog repeats, with a test key, the changes that write to the
// tenant's audit log.
func TestTestKeyFillsTheLog(t *testing.T) {
	table.Beside(t)
	onEach(t, "Resends and moves of the clock without end", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		receiver := gatewaytest.NewReceiver(t)
		shop := g.Shop(t, receiver.URL, nil)
		c := g.Create(t, shop.Test.APIKey, 18)
		if res, _ := g.Force(t, gatewaytest.Browser(), c, "verified"); res.StatusCode != http.StatusSeeOther {
			t.Fatalf("the forced outcome: %d", res.StatusCode)
		}
		event := receiver.Wait(t, 1)[0].Header.Get("webhook-id")
		open := g.Create(t, shop.Test.APIKey, 18)
		answers := map[int]int{}
		var silent []string
		for i := range 2 * audit.MaxTestActs {
			path, body := "/api/v1/test/events/"+event+"/resend", ""
			if i%2 == 1 {
				path, body = "/api/v1/test/sessions/"+open.SessionID+"/clock", `{"expire":"redirect"}`
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-API-Key", shop.Test.APIKey)
			if body != "" {
				req.Header.Set("Content-Type", "application/json")
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			answers[res.StatusCode]++
			if res.StatusCode == http.StatusTooManyRequests && res.Header.Get("Retry-After") == "" {
				silent = append(silent, path)
			}
		}
		entries := 0
		for seq := int64(0); ; {
			page, err := g.App.Store.AuditChain(t.Context(), audit.OfTenant(shop.Tenant.ID), seq, audit.MaxPage)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			entries, seq = entries+len(page), page[len(page)-1].Seq
		}
		r.Didf("%d requests, answered %v", 2*audit.MaxTestActs, answers)
		r.Mark("entries of the tenant's log", "≤ "+strconv.Itoa(audit.MaxTestActs), strconv.Itoa(entries),
			entries <= audit.MaxTestActs)
		r.None("refusals that do not say when to come back", silent)
		other := answers[http.StatusOK]+answers[http.StatusTooManyRequests] != 2*audit.MaxTestActs
		r.Mark("answers other than 200 and 429", "none", strconv.FormatBool(other), !other)
	})
}
