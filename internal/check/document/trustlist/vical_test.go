package trustlist_test

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"

	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/trustlist/trustlisttest"

	"github.com/veraison/go-cose"
)

const docTypeMDL = "org.iso.18013.5.1.mDL"

func exampleVICAL() trustlisttest.VICAL {
	return trustlisttest.VICAL{
		IssueID: 9, Date: now.Add(-time.Hour), Next: now.AddDate(0, 1, 0),
		Entries: []trustlisttest.VICALEntry{{Certificate: trustlisttest.NewIssuer("IACA"), Authority: "State of Utopia",
			DocTypes: []string{docTypeMDL, "org.example.other"}}},
	}
}

func TestVICAL(t *testing.T) {
	p := trustlisttest.NewPublisher("Publisher")
	v := exampleVICAL()
	list, err := trustlist.Parse(p.SignVICAL(v), source(trustlist.FormatVICAL, p.Certificate), now)
	if err != nil || list.Sequence != 9 || !list.Issued.Equal(v.Date) || !list.NextUpdate.Equal(v.Next) ||
		len(list.Entries) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if e := list.Entries[0]; e.Name != "State of Utopia" || e.Country != "US" || !e.Granted || len(e.DocTypes) != 2 ||
		e.DocTypes[0] != docTypeMDL {
		t.Errorf("%+v", e)
	}
	v.IssueID, v.Next = 0, time.Time{}
	list, err = trustlist.Parse(p.SignVICAL(v), source(trustlist.FormatVICAL, p.Certificate), now)
	if err != nil || list.Sequence != 0 || !list.NextUpdate.Equal(v.Date.Add(trustlist.VICALLife)) {
		t.Errorf("without number and end: %+v, %v", list, err)
	}
	if _, err := trustlist.Parse(p.SignVICAL(v), source(trustlist.FormatVICAL, p.Certificate),
		v.Date.Add(trustlist.VICALLife)); trustlist.ReasonOf(err) != trustlist.ReasonExpired {
		t.Errorf("90 days later: %v", err)
	}
}

// TestVICALSigner: the pinned certificate is the signer's, or that of the authority
// that certified it to sign VICALs.
func TestVICALSigner(t *testing.T) {
	root, other := trustlisttest.NewPublisher("Root"), trustlisttest.NewPublisher("Other")
	signer, reader := root.CertifySigner(1, 0, 18013, 5, 1, 8), root.CertifySigner(1, 0, 18013, 5, 1, 6)
	for name, test := range map[string]struct {
		signer trustlisttest.Publisher
		pinned *x509.Certificate
		chain  []*x509.Certificate
		want   trustlist.Reason
	}{
		"by the root": {signer, root.Certificate, nil, ""},
		"by the root, with its chain": {signer, root.Certificate, []*x509.Certificate{signer.Certificate, root.Certificate},
			""},
		"the signer itself":    {signer, signer.Certificate, nil, ""},
		"for another use":      {reader, root.Certificate, nil, trustlist.ReasonSigner},
		"by another root":      {signer, other.Certificate, nil, trustlist.ReasonSigner},
		"with another's chain": {other, root.Certificate, []*x509.Certificate{signer.Certificate}, trustlist.ReasonDigest},
		"with too long a chain": {signer, root.Certificate,
			[]*x509.Certificate{signer.Certificate, signer.Certificate, signer.Certificate, signer.Certificate,
				signer.Certificate, signer.Certificate}, trustlist.ReasonSignature},
	} {
		v := exampleVICAL()
		v.Chain = test.chain
		_, err := trustlist.Parse(test.signer.SignVICAL(v), source(trustlist.FormatVICAL, test.pinned), now)
		if trustlist.ReasonOf(err) != test.want || test.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVICALMutations: each mutated list is refused, for the reason that the fault
// has.
func TestVICALMutations(t *testing.T) {
	p := trustlisttest.NewPublisher("Publisher")
	member := func(name string, value any) func(*trustlisttest.VICAL) {
		return func(v *trustlisttest.VICAL) { v.Change = map[any]any{name: value} }
	}
	for name, m := range map[string]struct {
		change func(*trustlisttest.VICAL)
		final  func([]byte) []byte
		want   trustlist.Reason
	}{
		"the content is changed": {final: func(b []byte) []byte {
			return bytes.Replace(b, []byte("Utopia"),
				[]byte("Utopix"), 1)
		}, want: trustlist.ReasonDigest},
		"the signature is changed": {final: func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
			want: trustlist.ReasonDigest},
		"bytes follow":         {final: func(b []byte) []byte { return append(b, 0) }, want: trustlist.ReasonMalformed},
		"it is cut off":        {final: func(b []byte) []byte { return b[:len(b)-1] }, want: trustlist.ReasonMalformed},
		"it is empty":          {final: func([]byte) []byte { return nil }, want: trustlist.ReasonMalformed},
		"the list is detached": {change: func(v *trustlisttest.VICAL) { v.Unsigned = true }, want: trustlist.ReasonSignature},
		"a critical header": {change: func(v *trustlisttest.VICAL) {
			v.Headers = map[any]any{cose.HeaderLabelCritical: []any{int64(99)}, int64(99): true}
		}, want: trustlist.ReasonSignature},
		"no version":                 {change: member("version", nil), want: trustlist.ReasonMalformed},
		"no date":                    {change: member("date", nil), want: trustlist.ReasonIssued},
		"a date without its tag":     {change: member("date", "2026-03-01T00:00:00Z"), want: trustlist.ReasonMalformed},
		"a date of the future":       {change: member("date", now.Add(time.Hour)), want: trustlist.ReasonIssued},
		"a number that is too large": {change: member("vicalIssueID", uint64(1)<<63), want: trustlist.ReasonMalformed},
		"a negative number":          {change: member("vicalIssueID", -1), want: trustlist.ReasonMalformed},
		"expired":                    {change: member("nextUpdate", now), want: trustlist.ReasonExpired},
		"an end before its date": {change: member("nextUpdate", now.AddDate(-1, 0, 0)),
			want: trustlist.ReasonNextUpdate},
		"entries that are a map": {change: member("certificateInfos", map[string]any{}),
			want: trustlist.ReasonMalformed},
		"a certificate that is text": {change: member("certificateInfos", []any{map[string]any{"certificate": "x"}}),
			want: trustlist.ReasonMalformed},
		"kinds of documents as numbers": {change: member("certificateInfos", []any{map[string]any{"docType": []any{1}}}),
			want: trustlist.ReasonMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			v := exampleVICAL()
			if m.change != nil {
				m.change(&v)
			}
			raw := p.SignVICAL(v)
			if m.final != nil {
				raw = m.final(raw)
			}
			if _, err := trustlist.Parse(raw, source(trustlist.FormatVICAL, p.Certificate),
				now); trustlist.ReasonOf(err) != m.want {
				t.Errorf("%v, want %q", err, m.want)
			}
		})
	}
}

// FuzzVICAL is FuzzLoTE for VICALs.
func FuzzVICAL(f *testing.F) {
	p := trustlisttest.NewPublisher("Publisher")
	fuzzList(f, p.SignVICAL(exampleVICAL()), source(trustlist.FormatVICAL, p.Certificate))
}
