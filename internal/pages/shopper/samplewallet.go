package shopper

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"agegate/internal/check/document"
	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"

	"github.com/labstack/echo/v4"
)

// samplePath is the beginning of the sample wallet's path. The rest is the query of a request to a wallet in base64url.
// The request is in the path so that a link to another language keeps it.
const samplePath = "/sample-wallet/"

// sampleLink returns a relative link to the sample wallet with the request in link.
func sampleLink(link string) string {
	_, query, _ := strings.Cut(link, "?")
	return samplePath + base64.RawURLEncoding.EncodeToString([]byte(query))
}

type sampleView struct {
	layout
	Request string // reference to this page with the request
}

// sampleVisit is a visit of the sample wallet's holder.
type sampleVisit struct {
	sess    session.Session
	path    string // of the session's page
	request string // ID of the request
	link    string // the request in the form that a wallet gets
}

// sampleVisit reads the request and the test session that made it. It returns fault.NotFound for any other request.
func (p *Pages) sampleVisit(c echo.Context) (sampleVisit, error) {
	notFound := fault.New(fault.NotFound, "No request of a test session")
	raw, err := base64.RawURLEncoding.DecodeString(c.Param("request"))
	if err != nil {
		return sampleVisit{}, notFound
	}
	values, err := url.ParseQuery(string(raw))
	if err != nil {
		return sampleVisit{}, notFound
	}
	rest, ours := strings.CutPrefix(values.Get("response_uri"), p.cfg.VerifyURL+"/v/")
	token, request, _ := strings.Cut(rest, "/wallet/")
	if !ours {
		return sampleVisit{}, notFound
	}
	sess, err := p.cfg.Sessions.ByLink(c.Request().Context(), token)
	if err != nil {
		return sampleVisit{}, err
	}
	if sess.Livemode {
		return sampleVisit{}, notFound
	}
	return sampleVisit{sess, "/v/" + token, request, wallet.SchemeOpenID + "://?" + values.Encode()}, nil
}

// showSample answers GET /sample-wallet/{request}: which document the wallet holds.
func (p *Pages) showSample(c echo.Context) error {
	v, err := p.sampleVisit(c)
	if err != nil {
		return err
	}
	return p.render(c, http.StatusOK, "sample", &sampleView{layout: layout{Test: true}, Request: sampleLink(v.link)})
}

// answerSample answers POST /sample-wallet/{request}: the wallet shares its document.
// Like every wallet, it then opens the address in the answer.
func (p *Pages) answerSample(c echo.Context) error {
	v, err := p.sampleVisit(c)
	if err != nil {
		return err
	}
	age, err := strconv.Atoi(c.FormValue("age"))
	if err != nil || age < 0 || age > 120 {
		return echo.ErrBadRequest
	}
	kind := c.FormValue("kind")
	responseURI, form, err := p.cfg.Wallets.AnswerSample(v.link, document.SampleDocument{
		SampleDocument: wallet.SampleDocument{Age: age, Expired: kind == "expired"}, Untrusted: kind == "untrusted",
	})
	if err != nil {
		return echo.ErrBadRequest
	}
	_, err = p.cfg.Wallets.Receive(c.Request().Context(), v.sess, document.Post{
		ID: v.request, Scheme: wallet.SchemeOpenID, Unsigned: true, ResponseURI: responseURI, Form: form,
	})
	if err != nil && wallet.ReasonOf(err) == "" && !isLate(err) {
		return err
	}
	return c.Redirect(http.StatusSeeOther, v.path+"/wallet")
}
