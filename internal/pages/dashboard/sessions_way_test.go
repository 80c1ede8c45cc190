package dashboard_test

import (
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/session"

	"github.com/google/uuid"
)

// TestSessionsTellTheWay: the list and the file tell a document in a wallet from a
// photographed one.
func TestSessionsTellTheWay(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		for _, way := range []session.Way{session.WayWallet, session.WayWallet, session.WayPhoto} {
			made := g.Create(t, shop.Test.APIKey, 18)
			err := g.App.Store.UpdateSessions(t.Context(), func(tx session.Tx) error {
				s, err := tx.LockSession(uuid.MustParse(made.SessionID))
				if err != nil {
					return err
				}
				now := g.Clock.Now()
				s.Status, s.Source, s.DocumentWay, s.CompletedAt = session.StatusPassed, session.SourceDocument, way, &now
				return tx.SaveSession(s)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		support := member(t, g, shop.Tenant.ID, account.Support)
		list := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions"
		_, page := support.Get(t, list)
		_, file := support.Get(t, list+".csv")
		for name, of := range map[string]struct {
			text, want string
			n          int
		}{
			"rows by wallet":  {page, `">Wallet</td>`, 2},
			"row by photo":    {page, `">Photographed document</td>`, 1},
			"row of neither":  {page, `">Document</td>`, 0},
			"lines by wallet": {file, ",wallet,,", 2},
			"line by photo":   {file, ",photo,,", 1},
		} {
			if n := strings.Count(of.text, of.want); n != of.n {
				t.Errorf("%s: %q appears %d times, want %d", name, of.want, n, of.n)
			}
		}
	})
}

// TestDecidedByIsOneAnswer: the list, the page and the file say the same about a
// document that was declined, refused or preferred and then declined.
func TestDecidedByIsOneAnswer(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		support := member(t, g, shop.Tenant.ID, account.Support)
		list := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions"
		for name, change := range map[string]func(*session.Session){
			"declined":  func(*session.Session) {},
			"refused":   func(s *session.Session) { s.DocumentAttempts, s.DocumentWay = session.MaxDocuments, session.WayPhoto },
			"preferred": func(s *session.Session) { s.DocumentPreferred = true },
			"broken off": func(s *session.Session) {
				s.Setbacks = []session.Setback{{At: g.Clock.Now(), Why: "photo_document"}}
			},
		} {
			made := g.Create(t, shop.Test.APIKey, 18)
			err := g.App.Store.UpdateSessions(t.Context(), func(tx session.Tx) error {
				s, err := tx.LockSession(uuid.MustParse(made.SessionID))
				if err != nil {
					return err
				}
				now := g.Clock.Now()
				s.Status, s.Source, s.DocumentOpenedAt, s.CompletedAt = session.StatusFallback, session.SourceDocument, &now, &now
				change(&s)
				return tx.SaveSession(s)
			})
			if err != nil {
				t.Fatal(err)
			}
			_, page := support.Get(t, list+"/"+made.SessionID)
			_, rows := support.Get(t, list)
			_, file := support.Get(t, list+".csv")
			row := between(t, rows, "/"+made.SessionID+`"`, "</tr>")
			says := "Document declined"
			if name == "refused" || name == "broken off" {
				says = "No document accepted"
			}
			if !strings.Contains(page, "<dd>"+says+"</dd>") || !strings.Contains(row, ">"+says+"</td>") ||
				!strings.Contains(file, made.SessionID+",FALLBACK,18,no_document,") {
				t.Errorf("%s: list, page and file differ:\n%s\n%s", name, row, file)
			}
		}
	})
}

// TestNoWebhookIsExplained: the page of a session that ended says why no webhook was
// sent.
func TestNoWebhookIsExplained(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		for webhookURL, explained := range map[string]bool{"": true, "https://shop.example/hook": false} {
			shop := g.Shop(t, webhookURL, nil)
			dev := member(t, g, shop.Tenant.ID, account.Developer)
			made := g.Create(t, shop.Test.APIKey, 18)
			page := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions/" + made.SessionID
			const words = "created without a Webhook URL"
			if _, body := dev.Get(t, page); strings.Contains(body, words) {
				t.Errorf("%q: explained before the end", webhookURL)
			}
			g.Force(t, gatewaytest.Browser(), made, "verified")
			if _, body := dev.Get(t, page); strings.Contains(body, words) != explained {
				t.Errorf("%q: explained %t", webhookURL, !explained)
			}
		}
	})
}
