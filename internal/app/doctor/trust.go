package doctor

import (
	"fmt"
	"strings"
	"time"

	"agegate/internal/check/document"
)

// ending has, for each kind, the words of a finding: what ends, what happens then, and what to do.
var ending = map[document.EndingKind]struct{ name, then, advice string }{
	document.EndingList: {
		"published list", "its issuers are not trusted from then on",
		"run agegate trust sync; if the publisher has no newer list, ask it",
	},
	document.EndingSigner: {
		"pinned certificate of the list", "the list cannot be updated from then on",
		"get the signer's next certificate, and pin both with agegate trust source pin",
	},
	document.EndingIssuer: {
		"certificate of the issuer", "its documents are not accepted from then on",
		"if the issuer has a new one, add it; then run agegate trust remove",
	},
	document.EndingVerifier: {
		"certificate of the verifier's key", "requests are not signed with it from then on",
		"run agegate verifier rotate, or agegate verifier remove if it is not needed",
	},
	document.EndingRegistration: {
		"registration certificate of", "requests to wallets do not carry it from then on",
		"get the next one from the registrar and run agegate verifier import --registration",
	},
}

// trustFindings judges what wallets' checks depend on.
func trustFindings(d document.Dependencies, now time.Time) (findings []Finding) {
	const check = "trust"
	for _, e := range d.Before(now.Add(document.EndingSoon)) {
		text := ending[e.Kind]
		name, grade, verb := "ending", Warning, "ends"
		if !now.Before(e.At) {
			verb = "ended"
			if e.Kind == document.EndingList {
				name, grade = "list_ended", Problem
			}
		}
		found := fmt.Sprintf("the %s %q %s on %s: %s", text.name, e.Name, verb, e.At.Format("2006-01-02 15:04"), text.then)
		findings = append(findings, Finding{name, check, grade, found, text.advice, nil})
	}
	for _, l := range d.Failing {
		found := fmt.Sprintf("the last attempt to update the published list %q failed: %s", l.Name,
			strings.ReplaceAll(l.Failure, "\n", "; "))
		findings = append(findings, Finding{"list_failing", check, Warning, found,
			"run agegate trust sync to try again; the issuers of the list before it stay trusted until its end", nil})
	}
	for _, l := range d.Empty {
		advice := "run agegate trust sync, or start the gateway, which fetches it"
		if l.URL == "" {
			advice = "import it from a file"
		}
		findings = append(findings, Finding{"list_empty", check, Warning,
			fmt.Sprintf("the published list %q was not applied yet", l.Name), advice, nil})
	}
	for _, k := range d.Unlogged {
		found := fmt.Sprintf("the access certificate of the verifier's key %q carries no signed certificate timestamp "+
			"(SCT): wallets that want published certificates refuse it", k.Name)
		findings = append(findings, Finding{"unlogged", check, Warning, found,
			"ask the authority for a certificate that it has logged, and import it after agegate verifier rotate", nil})
	}
	for _, r := range d.Unsent {
		found := fmt.Sprintf("requests to wallets do not carry the registration certificate of %q: they are not signed, or "+
			"by a certificate with another organizationIdentifier", r.Owner())
		findings = append(findings, Finding{"unsent", check, Warning, found,
			"run agegate verifier list, and import the registration certificate that goes with the key", nil})
	}
	if findings == nil {
		findings = []Finding{{Check: check, Grade: OK, Found: "no list, issuer or certificate ends within 14 days"}}
	}
	return findings
}
