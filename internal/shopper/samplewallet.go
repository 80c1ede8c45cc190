package shopper

import (
	"net/http"
	"strconv"
	"strings"

	"agegate/internal/document"
	"agegate/internal/document/wallet"
	"agegate/internal/fault"

	"github.com/labstack/echo/v4"
)

// samplePath is the sample wallet. Its query is that of a request to a wallet.
const samplePath = "/sample-wallet"

type sampleView struct {
	layout
	Request string // reference to this page with the request
}

// sampleRequest returns the request in the query and the test session that made
// it, as the visit of whoever holds the wallet. It returns fault.NotFound for
// any other request.
func (p *Pages) sampleRequest(c echo.Context) (v visit, request string, err error) {
	notFound := fault.New(fault.NotFound, "No request of a test session")
	rest, ours := strings.CutPrefix(c.QueryParam("response_uri"), p.cfg.VerifyURL+"/v/")
	token, request, _ := strings.Cut(rest, "/wallet/")
	if !ours {
		return v, "", notFound
	}
	sess, err := p.cfg.Sessions.ByLink(c.Request().Context(), token)
	if err != nil {
		return v, "", err
	}
	if sess.Livemode {
		return v, "", notFound
	}
	return visit{sess: sess, path: "/v/" + token}, request, nil
}

// showSample answers GET /sample-wallet: which document the wallet holds.
func (p *Pages) showSample(c echo.Context) error {
	if _, _, err := p.sampleRequest(c); err != nil {
		return err
	}
	return p.render(c, http.StatusOK, "sample", &sampleView{
		layout: layout{Test: true}, Request: samplePath + "?" + c.QueryParams().Encode(),
	})
}

// answerSample answers POST /sample-wallet: the wallet shares its document, and
// then opens the address that it gets in return, as every wallet does.
func (p *Pages) answerSample(c echo.Context) error {
	v, request, err := p.sampleRequest(c)
	if err != nil {
		return err
	}
	age, err := strconv.Atoi(c.FormValue("age"))
	if err != nil || age < 0 || age > 120 {
		return echo.ErrBadRequest
	}
	kind := c.FormValue("kind")
	link := wallet.SchemeOpenID + "://?" + c.QueryParams().Encode()
	responseURI, form, err := p.cfg.Wallets.AnswerSample(link, document.SampleDocument{
		SampleDocument: wallet.SampleDocument{Age: age, Expired: kind == "expired"}, Untrusted: kind == "untrusted",
	})
	if err != nil {
		return echo.ErrBadRequest
	}
	err = p.cfg.Wallets.Receive(c.Request().Context(), v.sess, request, responseURI, form)
	if err != nil && wallet.ReasonOf(err) == "" && !isLate(err) {
		return err
	}
	return c.Redirect(http.StatusSeeOther, v.path+"/wallet")
}
