package shopper

import (
	"context"
	"encoding/base64"
	"html/template"

	"agegate/internal/check/document"
	"agegate/internal/check/document/wallet"
	"agegate/internal/pages/page"

	"github.com/labstack/echo/v4"
	"rsc.io/qr"
)

// walletForm is a form of links to wallets, with its own addresses.
type walletForm struct {
	suffix string // of the addresses
	scheme string
	here   bool // for a wallet on the same device, which must return to the browser
	code   bool // for a wallet on another device; see codePath
}

var (
	formUnsigned       = walletForm{scheme: wallet.SchemeOpenID}
	formHere           = walletForm{suffix: "/here", scheme: wallet.SchemeOpenID, here: true}
	formProofOfAge     = walletForm{suffix: "/" + wallet.SchemeProofOfAge, scheme: wallet.SchemeProofOfAge}
	formCode           = walletForm{scheme: wallet.SchemeOpenID, code: true}
	formCodeProofOfAge = walletForm{suffix: "/" + wallet.SchemeProofOfAge, scheme: wallet.SchemeProofOfAge, code: true}
	walletForms        = []walletForm{formUnsigned, formHere, formProofOfAge, formCode, formCodeProofOfAge}
)

// formOf returns the form of the links with a scheme.
func formOf(scheme string, signed, code bool) walletForm {
	switch {
	case scheme == wallet.SchemeProofOfAge && code:
		return formCodeProofOfAge
	case scheme == wallet.SchemeProofOfAge:
		return formProofOfAge
	case code:
		return formCode
	case signed:
		return formHere
	default:
		return formUnsigned
	}
}

// path is where wallets post their answers to a request. session is the path of the session's pages.
func (f walletForm) path(session, request string) string {
	if f.code {
		return codePath + request + f.suffix
	}
	return session + "/wallet/" + request + f.suffix
}

// requestPath is where wallets fetch a signed request.
func (f walletForm) requestPath(session, request string) string {
	if f.code {
		return codePath + request + "/r"
	}
	return session + "/r" + f.suffix
}

// codePath begins the addresses in codes that another device scans. They name a request instead of the session's link,
// so that the codes are small and do not reveal the link.
const codePath = "/v/w/"

// visitByCode reads the session of a request that was made by a code, like visit.
func (p *Pages) visitByCode(c echo.Context) (visit, error) {
	sess, err := p.cfg.Wallets.SessionOf(c.Request().Context(), c.Param("request"))
	if err != nil {
		return visit{}, err
	}
	v, err := p.visitOf(c, sess, "")
	if err == nil {
		err = v.refused()
	}
	return v, err
}

// walletAppOf returns the link for this device and the code for another device. They
// differ, because a wallet on this device must return to the browser.
func (p *Pages) walletAppOf(
	ctx context.Context, v visit, r document.Request, exchange wallet.Exchange, scheme string,
) (walletApp, error) {
	link, err := p.linkOf(v, r, exchange, scheme, false)
	if err != nil {
		return walletApp{}, err
	}
	shown, err := p.linkOf(v, r, exchange, scheme, true)
	if err != nil {
		return walletApp{}, err
	}
	code, err := v.picture(ctx, shown, qr.L)
	//nolint:gosec // our own link
	return walletApp{Name: scheme, Link: template.URL(link), QR: code}, err
}

// picture returns a text as a QR code, a PNG in an address.
func (v visit) picture(ctx context.Context, text string, level qr.Level) (template.URL, error) {
	png, err := page.QRCode(ctx, v.tenant.ID, text, level, 8)
	//nolint:gosec // our own picture
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png)), err
}

// linkOf returns a link of a scheme with the request. If requests are signed, the link
// has the address at which the wallet fetches the request.
func (p *Pages) linkOf(
	v visit, r document.Request, exchange wallet.Exchange, scheme string, code bool,
) (string, error) {
	signed := exchange.IsSigned() && scheme != wallet.SchemeProofOfAge
	form := formOf(scheme, signed, code)
	if signed {
		return exchange.SignedLink(scheme, p.cfg.VerifyURL+form.requestPath(v.path, r.ID)), nil
	}
	return exchange.Link(scheme, v.sess.TargetAge, p.responseURI(v.path, r.ID, form))
}

// responseURI is the address to which wallets post the answer to a link.
func (p *Pages) responseURI(path, request string, f walletForm) string {
	return p.cfg.VerifyURL + f.path(path, request)
}
