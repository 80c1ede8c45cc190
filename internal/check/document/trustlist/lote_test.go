package trustlist_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/trustlist/trustlisttest"
)

func exampleLoTE(p trustlisttest.Publisher) trustlisttest.LoTE {
	return trustlisttest.LoTE{
		Sequence: 3, Issued: now.Add(-1e9), Next: now.AddDate(0, 6, 0),
		Entities: []trustlisttest.Service{{Provider: "Entity", Certificate: p.Certificate}},
	}
}

func loteSource(p trustlisttest.Publisher) trustlist.Source {
	s := source(trustlist.FormatLoTE, p.Certificate)
	s.Type = trustlisttest.LoTEType
	return s
}

func TestLoTE(t *testing.T) {
	issuer, ended, other := trustlisttest.NewIssuer("Issuer"), trustlisttest.NewIssuer("Ended"),
		trustlisttest.NewIssuer("Other")
	for name, p := range map[string]trustlisttest.Publisher{
		"ES256": trustlisttest.NewPublisher("Publisher"), "RS256": trustlisttest.NewRSAPublisher("Publisher", 2048),
	} {
		l := exampleLoTE(p)
		l.Entities = []trustlisttest.Service{
			{Provider: "Entity", Certificate: issuer},
			{Provider: "Revocation", Certificate: other, Type: "http://uri.etsi.org/19602/SvcType/PID/Revocation"},
			{Provider: "Ended", Certificate: ended, Status: "http://uri.etsi.org/19602/PubEAAProvidersList/SvcStatus/withdrawn"},
			{Provider: "Notified", Certificate: other,
				Status: "http://uri.etsi.org/19602/PubEAAProvidersList/SvcStatus/notified"},
		}
		list, err := trustlist.Parse(p.SignLoTE(l), loteSource(p), now)
		if err != nil || list.Sequence != 3 || len(list.Entries) != 3 {
			t.Fatalf("%s: %+v, %v", name, list, err)
		}
		first, second, third := list.Entries[0], list.Entries[1], list.Entries[2]
		if !first.Certificate.Equal(issuer) || first.Name != "Entity" || first.Country != "AT" || !first.Granted ||
			second.Granted || second.Status != "withdrawn" || !third.Granted {
			t.Errorf("%s: %+v", name, list.Entries)
		}
	}
}

// TestLoTEMutations: each mutated list is refused, for the reason that the fault
// has.
func TestLoTEMutations(t *testing.T) {
	p, other := trustlisttest.NewPublisher("Publisher"), trustlisttest.NewPublisher("Other")
	part := func(n int, change func(string) string) func(string) string {
		return func(text string) string {
			parts := strings.Split(text, ".")
			decoded, err := base64.RawURLEncoding.DecodeString(parts[n])
			if err != nil {
				t.Fatal(err)
			}
			parts[n] = base64.RawURLEncoding.EncodeToString([]byte(change(string(decoded))))
			return strings.Join(parts, ".")
		}
	}
	header := func(name string, value any) func(*trustlisttest.LoTE) {
		return func(l *trustlisttest.LoTE) { l.Header = map[string]any{name: value} }
	}
	member := func(name string, value any) func(*trustlisttest.LoTE) {
		return func(l *trustlisttest.LoTE) { l.List = map[string]any{name: value} }
	}
	final := func(change func(string) string) func(*trustlisttest.LoTE) {
		return func(l *trustlisttest.LoTE) { l.Final = change }
	}
	critical := []any{map[string]any{"critical": true}}
	for name, m := range map[string]struct {
		change func(*trustlisttest.LoTE)
		want   trustlist.Reason
	}{
		"the content is changed": {final(part(1, replace(t, "Entity", "Entitx"))), trustlist.ReasonDigest},
		"the header is changed":  {final(part(0, replace(t, "JOSE", "JWT0"))), trustlist.ReasonDigest},
		"the signature is changed": {final(part(2,
			func(s string) string { return s[:63] + string([]byte{s[63] ^ 1}) })), trustlist.ReasonDigest},
		"the signature is cut off": {final(func(s string) string { return s[:len(s)-2] }), trustlist.ReasonDigest},
		"there is no signature": {final(func(s string) string { return s[:strings.LastIndex(s, ".")+1] }),
			trustlist.ReasonMalformed},
		"there are four parts": {final(func(s string) string { return s + ".eA" }), trustlist.ReasonMalformed},
		"padding":              {final(func(s string) string { return s + "=" }), trustlist.ReasonMalformed},
		"the JSON serialisation": {final(func(string) string { return `{"payload":"e30","signatures":[]}` }),
			trustlist.ReasonMalformed},
		"no algorithm":        {header("alg", nil), trustlist.ReasonAlgorithm},
		"algorithm none":      {header("alg", "none"), trustlist.ReasonAlgorithm},
		"a MAC":               {header("alg", "HS256"), trustlist.ReasonAlgorithm},
		"another curve":       {header("alg", "ES384"), trustlist.ReasonAlgorithm},
		"another kind of key": {header("alg", "RS256"), trustlist.ReasonAlgorithm},
		"no certificate":      {header("x5c", nil), trustlist.ReasonSignature},
		"another certificate": {header("x5c", []string{base64Of(other.Certificate.Raw)}),
			trustlist.ReasonSigner},
		"another thumbprint":                {header("x5t#S256", "AAAA"), trustlist.ReasonSigner},
		"an unknown critical header":        {header("crit", []string{"b64"}), trustlist.ReasonSignature},
		"a critical header that is missing": {header("crit", []string{"sigT"}), trustlist.ReasonSignature},
		"no critical headers":               {header("crit", []string{}), trustlist.ReasonSignature},
		"signed in the future":              {header("iat", now.Unix()+3600), trustlist.ReasonSignature},
		"signed at no time":                 {header("sigT", "today"), trustlist.ReasonSignature},
		"another type": {member("LoTEType", "http://uri.etsi.org/19602/LoTEType/EUWRPACProvidersList"),
			trustlist.ReasonType},
		"no type":               {member("LoTEType", nil), trustlist.ReasonType},
		"another version":       {member("LoTEVersionIdentifier", 2), trustlist.ReasonMalformed},
		"no number":             {member("LoTESequenceNumber", nil), trustlist.ReasonMalformed},
		"a number that is text": {member("LoTESequenceNumber", "3"), trustlist.ReasonMalformed},
		"a critical extension":  {member("SchemeExtensions", critical), trustlist.ReasonMalformed},
		"of the future":         {member("ListIssueDateTime", "2026-04-01T00:00:00Z"), trustlist.ReasonIssued},
		"no date of issue":      {member("ListIssueDateTime", nil), trustlist.ReasonIssued},
		"expired":               {member("NextUpdate", "2026-03-01T12:00:00Z"), trustlist.ReasonExpired},
		"no end":                {member("NextUpdate", nil), trustlist.ReasonNextUpdate},
	} {
		t.Run(name, func(t *testing.T) {
			l := exampleLoTE(p)
			m.change(&l)
			if _, err := trustlist.Parse(p.SignLoTE(l), loteSource(p), now); trustlist.ReasonOf(err) != m.want {
				t.Errorf("%v, want %q", err, m.want)
			}
		})
	}
	older := exampleLoTE(p)
	older.Header = map[string]any{"crit": []string{"sigT"}, "sigT": "2026-02-28T00:00:00Z", "iat": nil}
	if _, err := trustlist.Parse(p.SignLoTE(older), loteSource(p), now); err != nil {
		t.Errorf("a critical signing time: %v", err)
	}
}

// FuzzLoTE: no input makes the parser fail otherwise than by a refusal, and no list
// is accepted that nobody signed.
func FuzzLoTE(f *testing.F) {
	p := trustlisttest.NewPublisher("Publisher")
	raw := p.SignLoTE(exampleLoTE(p))
	fuzzList(f, raw, loteSource(p))
}

// fuzzList runs a fuzz target that begins with a signed list.
func fuzzList(f *testing.F, raw []byte, s trustlist.Source) {
	f.Helper()
	want, err := trustlist.Parse(raw, s, now)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := trustlist.Parse(raw, s, now)
		switch {
		case err == nil && list.Digest != want.Digest:
			t.Error("a list that nobody signed is accepted")
		case err != nil && trustlist.ReasonOf(err) == "":
			t.Errorf("%v", err)
		}
	})
}
