package mutants

import (
	"net/http"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/internal/lab/suite"
	"agegate/internal/rules/tenant"
	"agegate/proof/table"
)

// TestEverySetting: no case fails on the right gateway, whatever the tenant has set.
func TestEverySetting(t *testing.T) {
	t.Parallel()
	yes, none := true, ""
	cases := []string{"[a-v]*", "webhook.verified", "webhook.fallback", "webhook.once"} // without the long waits
	if table.Full() {
		cases = nil
	}
	for _, tt := range []struct {
		name     string
		changes  tenant.Changes
		silent   bool // no webhook arrives
		disabled bool // the endpoint has said that it is gone
		costly   bool // like another one
	}{
		{name: "document check", costly: true, changes: tenant.Changes{DocumentCheck: &yes}},
		{name: "document only", changes: tenant.Changes{DocumentCheck: &yes, DocumentOnly: &yes}},
		{name: "margins", costly: true, changes: tenant.Changes{Margins: &[]string{"13=9", "18=9"}}},
		{name: "languages", costly: true, changes: tenant.Changes{Languages: &[]string{"de"}}},
		{name: "no Webhook URL", changes: tenant.Changes{WebhookURL: &none}, silent: true},
		{name: "endpoint disabled", disabled: true, silent: true},
	} {
		if tt.costly && !table.Full() {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, gatewaytest.SQLite(t))
			s.update(t, tt.changes)
			if tt.silent {
				s.options.Register, s.options.WebhookURL = nil, ""
			}
			if tt.disabled {
				s.run(t, fault{answered: func(int) int { return http.StatusGone }}, "webhook.verified")
			}
			report := s.run(t, fault{}, cases...)
			for _, r := range report.Results {
				if r.Outcome != suite.Passed && r.Outcome != suite.Skipped {
					t.Errorf("%s is %s: %s", r.Case, r.Outcome, strings.Join(r.Details, "\n"))
				}
			}
			t.Log(report.Summary())
		})
	}
}
