package document

import (
	"net/url"

	"agegate/internal/check/document/wallet"
)

// SampleDocument is the document that the sample wallet presents.
type SampleDocument struct {
	wallet.SampleDocument
	Untrusted bool // issued by an issuer that no session trusts
}

// AnswerSample answers a request made as a link, like a wallet that holds the
// document. Only test sessions trust its issuer. It returns the form to post to
// responseURI.
func (w *Wallets) AnswerSample(link string, d SampleDocument) (responseURI string, form url.Values, err error) {
	issuer := w.sample
	if d.Untrusted {
		secret := make([]byte, 32)
		if _, err := w.random.Read(secret); err != nil {
			return "", nil, err
		}
		if issuer, err = wallet.NewSampleIssuer(secret); err != nil {
			return "", nil, err
		}
	}
	return issuer.AnswerLink(link, d.SampleDocument, w.now())
}
