package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agegate/internal/app"
	"agegate/internal/check/document"
	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/trustlist/trustlisttest"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"

	"github.com/google/uuid"
)

// TestListsAreFetched: the server fetches the published lists by itself.
func TestListsAreFetched(t *testing.T) {
	publisher := trustlisttest.NewPublisher("Publisher")
	raw := publisher.SignXML(trustlisttest.XML{
		Sequence: 1, Issued: trustlisttest.Start, Next: trustlisttest.Start.AddDate(90, 0, 0),
		Services: []trustlisttest.Service{{Provider: "Issuer", Certificate: trustlisttest.NewIssuer("Issuer")}},
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(raw) }))
	defer server.Close()
	url := gatewaytest.SQLite(t)
	db, err := store.Open(t.Context(), store.Config{URL: url, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	start := func() time.Time { return trustlisttest.Start }
	lists := document.NewLists(db, tenant.CallbackRule{AllowInsecure: true}, nil, start)
	_, err = lists.Add(t.Context(), audit.System("test"),
		document.NewList{Name: "AV", Format: trustlist.FormatAV, URL: server.URL, PEM: publisher.PEM()})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	g := gatewaytest.Start(t, url, "AGEGATE_WEBHOOK_ALLOW_NETS=127.0.0.0/8,::1/128")
	gatewaytest.WaitFor(t, "the list's issuer", func() bool {
		issuers, err := g.App.Store.Issuers(t.Context())
		return err == nil && len(issuers) == 1 && issuers[0].List.Name == "AV"
	})
	entries, err := g.App.Store.AuditEntries(t.Context(), audit.Filter{Scope: audit.Instance, Action: audit.IssuerTrust})
	if err != nil || len(entries) != 1 || entries[0].Actor != audit.System("trust sync") {
		t.Errorf("%+v, %v", entries, err)
	}
}

// TestEndedCertificatesAreLogged: the log says which registration certificate has ended, and metrics count it before.
func TestEndedCertificatesAreLogged(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	end := g.Clock.Now().Add(time.Hour).UTC().Truncate(time.Second)
	err := g.App.Store.PutRegistration(t.Context(),
		document.Registration{ID: uuid.New(), Text: "x", NotAfter: &end, CreatedAt: end},
		audit.Act{Scope: audit.Instance, At: end, Actor: audit.System("test"), Action: audit.RegistrationAdd})
	if err != nil {
		t.Fatal(err)
	}
	tells := func() bool {
		t.Helper()
		if err := app.TellEnded(g.App, t.Context()); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(g.Log.String(), "has ended and is not used\" of=registration name=instance")
	}
	if tells() {
		t.Error("the log says that it ended before its end")
	}
	g.Clock.Advance(time.Hour)
	if !tells() {
		t.Errorf("the log does not say that it ended:\n%s", g.Log.String())
	}
}
