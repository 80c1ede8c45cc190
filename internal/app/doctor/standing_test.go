package doctor

import (
	"strings"
	"testing"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/pages/dashboard"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
)

// named reports whether what is not well has one of the names that pages know.
func named(f Finding) bool {
	_, known := dashboard.FindingPlaces[f.Name]
	return f.Grade == OK || known
}

func TestStandingFindings(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(hours int) *time.Time { at := now.Add(-time.Duration(hours) * time.Hour); return &at }
	for _, row := range []struct {
		name  string
		found store.Standing
		want  string // grades and parts of the texts
	}{
		{"well", store.Standing{Server: true, Visible: true, LastBackup: ago(29), Standbys: 2},
			"ok: 29 h old, the archive does not fail, and the standbys that follow are 2"},
		{"an old backup", store.Standing{Server: true, Visible: true, LastBackup: ago(31)},
			"warning: last backup is 31 h old"},
		{"no backup", store.Standing{Server: true, Visible: true}, "warning: no backup"},
		{"lag", store.Standing{Server: true, Visible: true, LastBackup: ago(1), LagBytes: 300 << 20},
			"warning: lacks 300 MB"},
		{"archive", store.Standing{Server: true, Visible: true, LastBackup: ago(1), ArchiveFailing: true},
			"problem: archive the database's log"},
		{"no right", store.Standing{Server: true}, "warning: were not examined"},
		{"SQLite", store.Standing{LastBackup: ago(29)}, "ok: the last backup is 29 h old"},
		{"SQLite, an old backup", store.Standing{LastBackup: ago(31)}, "warning: last backup is 31 h old"},
		{"SQLite, no backup", store.Standing{}, "warning: no backup"},
	} {
		got := standingFindings(row.found, now)
		grade, text, _ := strings.Cut(row.want, ": ")
		if len(got) != 1 || string(got[0].Grade) != grade || !strings.Contains(got[0].Found, text) ||
			(got[0].Grade == OK) != (got[0].Advice == "") || !named(got[0]) {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}

// TestSecurityContactFindings: the operator hears a month before the contact's last day.
func TestSecurityContactFindings(t *testing.T) {
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		until time.Time
		found int
	}{{time.Time{}, 0}, {now.AddDate(0, 1, 1), 0}, {now.AddDate(0, 1, -1), 1}, {now.AddDate(0, 0, -1), 1}} {
		cfg := config.Config{Role: config.RoleAPI, BaseURL: "https://a.example", VerifyURL: "https://a.example",
			Retention: 90 * 24 * time.Hour,
			Margin:    tenant.MarginRule{Usual: tenant.DefaultMargin}}
		if !row.until.IsZero() {
			cfg.Security = config.SecurityContact{URI: "mailto:security@a.example", Until: row.until}
		}
		got := settings(cfg, now)[1:] // the first is the retention's
		if len(got) != row.found || row.found > 0 && (!named(got[0]) || got[0].Grade != Warning) {
			t.Errorf("until %s: %+v", row.until, got)
		}
	}
}
