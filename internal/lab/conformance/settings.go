package conformance

import (
	"maps"
	"net/http"
	"slices"

	"agegate/internal/lab/suite"
)

// documentOnly reports whether the tenant takes no estimate, so that no session ends as
// SPOOF: the form with which its hosted page begins has a document as its only choice.
func (t *trial) documentOnly() bool {
	if t.onlyDocuments == nil {
		begin := findForm(t.visit(t.pending(), "").body)
		only := begin != nil && len(begin.inputs) > 0 && !slices.ContainsFunc(begin.inputs, func(i map[string]string) bool {
			return i["name"] != "choice" || i["value"] != "document"
		})
		t.onlyDocuments = &only
	}
	return *t.onlyDocuments
}

// outcomes returns the outcomes that sessions of the tenant can have.
func (t *trial) outcomes() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(forcedStatus)), func(outcome string) bool {
		return outcome == "spoof" && t.documentOnly()
	})
}

// unsent returns why the gateway sends no webhook for a session, by the state of its event
// in the list of the test mode, or "".
func (t *trial) unsent(id string) string {
	for _, e := range t.events("?session_id=" + id) {
		switch e.Delivery {
		case "no_destination":
			return "the tenant has no Webhook URL"
		case "waiting":
			return "the tenant's endpoint is disabled"
		}
	}
	return ""
}

// settingCases has the rule of force for a tenant that checks documents only.
var settingCases = []testCase{{
	Name: "force.document_only", Title: "Where only documents are checked, force=spoof is a page with 400 and changes " +
		"nothing, and fallback and verified end the session",
	Cites: []string{"SPEC 3", "SPEC 4.4", "openapi.yaml Test sessions"},
	run: func(t *trial) {
		if !t.documentOnly() {
			t.endf(suite.Skipped, "needs a tenant that checks documents only")
		}
		s := t.pending()
		t.visits(s, http.StatusBadRequest, "?force=spoof")
		t.is("PENDING", s, "after force=spoof")
		for _, outcome := range t.outcomes() {
			t.is(forcedStatus[outcome], t.forced(outcome), "after force="+outcome)
		}
	},
}}
