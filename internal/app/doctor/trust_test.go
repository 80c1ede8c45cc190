package doctor

import (
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document"
)

func TestTrustFindings(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ends := func(kind document.EndingKind, days int) document.Dependencies {
		return document.Dependencies{Endings: []document.Ending{{Kind: kind, Name: "It", At: now.AddDate(0, 0, days)}}}
	}
	for _, row := range []struct {
		name  string
		found document.Dependencies
		grade Grade
		text  string
	}{
		{"nothing", document.Dependencies{}, OK, "ends within 14 days"},
		{"a list that ends later", ends(document.EndingList, 15), OK, "no list"},
		{"a list that ends soon", ends(document.EndingList, 13), Warning, `published list "It" ends on 2026-03-14 12:00`},
		{"a list that has ended", ends(document.EndingList, 0), Problem, `published list "It" ended on 2026-03-01 12:00`},
		{"a signer", ends(document.EndingSigner, 1), Warning, "pinned certificate of the list"},
		{"an issuer", ends(document.EndingIssuer, -1), Warning, "certificate of the issuer"},
		{"a verifier", ends(document.EndingVerifier, -1), Warning, "not signed with it"},
		{"a registration certificate", ends(document.EndingRegistration, -1), Warning, "do not carry it from then on"},
		{"an access certificate without SCTs", document.Dependencies{Unlogged: []document.VerifierKey{{Name: "Shop"}}},
			Warning, `key "Shop" carries no signed certificate timestamp`},
		{"a registration certificate of another name", document.Dependencies{Unsent: []document.Registration{{}}}, Warning,
			`do not carry the registration certificate of "instance"`},
		{"a list that failed", document.Dependencies{Failing: []document.TrustList{{Name: "AV",
			Failure: "the list has expired"}}}, Warning, `"AV" failed: the list has expired`},
		{"a list that was not fetched", document.Dependencies{Empty: []document.TrustList{{Name: "AV",
			URL: "https://lists.example"}}}, Warning, "not applied yet"},
		{"a list that was not imported", document.Dependencies{Empty: []document.TrustList{{Name: "AV"}}}, Warning,
			"not applied yet"},
	} {
		got := trustFindings(row.found, now)
		if len(got) != 1 || got[0].Grade != row.grade || !strings.Contains(got[0].Found, row.text) ||
			(got[0].Grade == OK) != (got[0].Advice == "") || !named(got[0]) {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
	for _, kind := range document.EndingKinds() {
		if ending[kind].advice == "" {
			t.Errorf("%s has no advice", kind)
		}
	}
}
