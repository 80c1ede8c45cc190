package wallet

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document/wallet/wallettest"
	"agegate/internal/rules/turn/turntest"
)

// costLimit is the maximum processor time for an answer that has not yet proved
// anything. The smallest hostile answer here once took 60 times as long.
const costLimit = 50 * time.Millisecond

// TestHugeKeysCostNothing: certificates of unknown senders are refused because of
// the size of their keys, before a signature is checked with such a key.
func TestHugeKeysCostNothing(t *testing.T) {
	chain := wallettest.Chain(t, wallettest.HugeKey(wallettest.HugeBits))
	token := wallettest.Token(t, "age", DocTypeProofOfAge, chain)
	issuer := newIssuer(t, 2)
	var texts []string
	for _, der := range chain {
		texts = append(texts, base64.StdEncoding.EncodeToString(der))
	}
	list := encode64([]byte(`{"alg":"ES256","x5c":["`+strings.Join(texts, `","`)+`"]}`)) + "." + encode64([]byte("{}")) +
		"." + encode64(make([]byte, 64))
	for name, verify := range map[string]func() error{
		"a document": func() error {
			p, err := newExchange(t, 1).onlyDocument(must(readJSON([]byte(token))), proofOfAge, bond{})
			if err != nil {
				return err
			}
			return Verifier{Issuers: issuer.Trusted()}.Verify(t.Context(), p, 18, now)
		},
		"a status list": func() error {
			_, err := ParseStatusList([]byte(list), listURI, DocTypeMDL, issuer.Trusted(), now)
			return err
		},
	} {
		var err error
		turntest.Within(t, 10*costLimit, "refusing "+name, func() { err = verify() }) // this machine may be busy
		if want := map[string]Reason{"a document": ReasonAlgorithm,
			"a status list": ReasonStatus}[name]; ReasonOf(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
