package document

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
)

// TestUnlogged: access certificates to EUDI wallets must carry SCTs, others need not.
func TestUnlogged(t *testing.T) {
	logged := []pkix.Extension{{Id: oidTimestamps}}
	policies := []asn1.ObjectIdentifier{{0, 4, 0, 194118, 1, 3}}
	for name, row := range map[string]struct {
		certificate x509.Certificate
		want        bool
	}{
		"another certificate":       {x509.Certificate{}, false},
		"by its usage":              {x509.Certificate{UnknownExtKeyUsage: []asn1.ObjectIdentifier{oidAccess}}, true},
		"by its policy":             {x509.Certificate{PolicyIdentifiers: policies}, true},
		"of a policy like it":       {x509.Certificate{PolicyIdentifiers: []asn1.ObjectIdentifier{{0, 4, 0, 194118}}}, false},
		"logged, by its policy":     {x509.Certificate{PolicyIdentifiers: policies, Extensions: logged}, false},
		"logged, of no such policy": {x509.Certificate{Extensions: logged}, false},
	} {
		if got := isUnlogged(&row.certificate); got != row.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
