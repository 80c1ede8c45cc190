package shopper

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"slices"

	"agegate/internal/check/document"
	"agegate/internal/check/document/wallet"
	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"

	"github.com/labstack/echo/v4"
	"rsc.io/qr"
)

// maxPresentation is the largest body that holds a wallet's answer: base64 twice,
// and the form's own escapes.
const maxPresentation = 3 * wallet.MaxResponseBytes

// registerWallet mounts the wallet way of the document check.
func (p *Pages) registerWallet(e *echo.Echo) {
	getOrHead := []string{http.MethodGet, http.MethodHead}
	e.Match(getOrHead, "/v/:token/wallet", p.showWallet, page.Compress)
	e.GET("/v/:token/wallet/state", p.walletState)
	e.POST("/v/:token/wallet/browser", p.presentInBrowser)
	// Wallets post here, which have no origin and no cookie. Each scheme of links
	// has its own address, as each asks for an answer of another form.
	e.POST("/v/:token/wallet/:request", p.receive(wallet.SchemeOpenID))
	e.POST("/v/:token/wallet/:request/"+wallet.SchemeProofOfAge, p.receive(wallet.SchemeProofOfAge))
	e.Match(getOrHead, samplePath+":request", p.showSample, page.Compress)
	e.POST(samplePath+":request", p.answerSample, p.pages.SameOrigin)
}

// walletView is the page from which a wallet is asked.
type walletView struct {
	layout
	exit
	TargetAge int
	State     string // of the request; see walletState
	Refused   string // complaint about the last answer; empty for none
	Requests  string // JSON, for the Digital Credentials API
	Apps      []walletApp
	Sample    string // reference to the sample wallet; empty in live mode
}

// walletApp is a kind of wallet that is opened by a link or a QR code.
type walletApp struct {
	Name string // of the texts wallet.<name>…
	Link template.URL
	QR   template.URL // PNG of the link
}

// showWallet answers GET /v/{token}/wallet: the request to a wallet, or where
// its answer leads.
func (p *Pages) showWallet(c echo.Context) error {
	v, err := p.visit(c)
	if err != nil {
		return err
	}
	if !p.walletable(v) {
		return p.onward(c, v, v.path)
	}
	request, err := p.cfg.Wallets.RequestOf(c.Request().Context(), v.sess)
	if fault.CodeOf(err) == fault.NotFound {
		return p.onward(c, v, v.path)
	}
	if err != nil {
		return err
	}
	if request.Final && c.Request().Method == http.MethodGet {
		return p.finishWallet(c, v, request)
	}
	view, err := p.walletViewOf(c.Request().Context(), v, request)
	if err != nil {
		return err
	}
	return p.render(c, http.StatusOK, "wallet", view)
}

// applyAnswer applies the final answer that waits in place of what the shopper has
// asked for, and leads on.
func (p *Pages) applyAnswer(c echo.Context, v visit) error {
	request, err := p.cfg.Wallets.RequestOf(c.Request().Context(), v.sess)
	if fault.CodeOf(err) == fault.NotFound {
		return p.onward(c, v, v.path)
	}
	if err != nil {
		return err
	}
	return p.finishWallet(c, v, request)
}

// finishWallet applies the answer of a wallet and leads on.
func (p *Pages) finishWallet(c echo.Context, v visit, r document.Request) error {
	after, reason, err := p.cfg.Wallets.Finish(c.Request().Context(), v.sess, r)
	if err != nil && !isLate(err) {
		return err
	}
	v.sess = after
	return p.onward(c, v, v.afterDocument(reason))
}

// afterDocument is where a document that was read leads: to the session's page,
// which says why it was refused while another one may be tried.
func (v visit) afterDocument(reason wallet.Reason) string {
	if reason != "" && v.sess.DocumentOpen() {
		return v.path + "?refused=" + string(reason)
	}
	return v.path
}

func (p *Pages) walletViewOf(ctx context.Context, v visit, r document.Request) (*walletView, error) {
	exchange, err := p.cfg.Wallets.Exchange(ctx, v.sess, r)
	if err != nil {
		return nil, err
	}
	requests, err := exchange.BrowserRequests(v.sess.TargetAge, p.cfg.VerifyURL, p.cfg.Wallets.Now())
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(requests)
	if err != nil {
		return nil, err
	}
	view := &walletView{
		layout: p.layoutOf(v), exit: exitOf(v), TargetAge: v.sess.TargetAge, State: stateOf(r), Requests: string(encoded),
	}
	if r.Outcome != "" && !r.Final {
		view.Refused = complaint(wallet.Reason(r.Outcome))
	}
	for _, scheme := range exchange.Schemes() {
		link, err := exchange.Link(scheme, v.sess.TargetAge, p.responseURI(v.path, r.ID, scheme))
		if err != nil {
			return nil, err
		}
		code, err := qr.Encode(link, qr.L)
		if err != nil {
			return nil, err
		}
		view.Apps = append(view.Apps, walletApp{
			Name: scheme, Link: template.URL(link), //nolint:gosec // our own link
			QR: template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(code.PNG())), //nolint:gosec // our own picture
		})
		if !v.sess.Livemode && scheme == wallet.SchemeOpenID {
			view.Sample = sampleLink(link)
		}
	}
	return view, nil
}

// responseURI is the address that wallets post the answer to a link with a
// scheme to.
func (p *Pages) responseURI(path, request, scheme string) string {
	uri := p.cfg.VerifyURL + path + "/wallet/" + request
	if scheme == wallet.SchemeProofOfAge {
		uri += "/" + scheme
	}
	return uri
}

// complaints are what the page says of an answer that proves nothing: the texts
// wallet.refused.<name>.
var complaints = []string{"issuer_unknown", "issuer_expired", "not_yet_valid", "no_statement", "status", "declined", "unable", "unverified"}

// complaint returns the text for a reason.
func complaint(reason wallet.Reason) string {
	switch reason {
	case wallet.ReasonIssuerCertificate:
		reason = wallet.ReasonIssuerExpired
	case wallet.ReasonDocType:
		reason = wallet.ReasonNoStatement
	}
	if slices.Contains(complaints, string(reason)) {
		return string(reason)
	}
	return "unverified"
}

// The states of a request as its page knows them.
const (
	walletOver = "over" // the session's page says how it goes on
	walletOpen = "open" // no answer yet
)

// stateOf is the state of a request: a refused answer leaves it open, but the
// page shows why.
func stateOf(r document.Request) string {
	switch {
	case r.Final:
		return walletOver
	case r.Outcome != "":
		return r.Outcome
	default:
		return walletOpen
	}
}

// walletState answers GET /v/{token}/wallet/state, which the page polls.
func (p *Pages) walletState(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	v, err := p.visit(c)
	if err != nil && !isDisabled(err) {
		return err
	}
	state := walletOver
	if err == nil && p.walletable(v) {
		request, err := p.cfg.Wallets.RequestOf(c.Request().Context(), v.sess)
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
		if err == nil {
			state = stateOf(request)
		}
	}
	return c.JSON(http.StatusOK, map[string]string{"state": state})
}

// presentInBrowser answers POST /v/{token}/wallet/browser: what the Digital
// Credentials API returned. The page goes on to next.
func (p *Pages) presentInBrowser(c echo.Context) error {
	if err := p.pages.CheckOrigin(c.Request()); err != nil {
		return err
	}
	c.Request().Body = http.MaxBytesReader(c.Response(), c.Request().Body, maxPresentation)
	v, err := p.visit(c)
	if err != nil {
		return err
	}
	if !p.walletable(v) {
		return c.JSON(http.StatusOK, map[string]string{"next": v.path})
	}
	var answer struct {
		Protocol string          `json:"protocol"`
		Data     json.RawMessage `json:"data"`
	}
	if json.NewDecoder(c.Request().Body).Decode(&answer) != nil {
		return echo.ErrBadRequest
	}
	v.sess, err = p.cfg.Wallets.Present(c.Request().Context(), v.sess, p.cfg.VerifyURL, answer.Protocol, answer.Data)
	reason := wallet.ReasonOf(err)
	switch {
	case err == nil, reason.Genuine(), isLate(err):
		return c.JSON(http.StatusOK, map[string]string{"next": v.afterDocument(reason)})
	case errors.Is(err, session.ErrAnswered):
		return c.JSON(http.StatusOK, map[string]string{"next": v.path + "/wallet"})
	case reason != "":
		return c.JSON(http.StatusOK, map[string]string{"refused": complaint(reason)})
	default:
		return err
	}
}

// receive answers POST /v/{token}/wallet/{request}, where wallets post their
// answers to links with a scheme (OpenID4VP 1.0, 8.2). It needs no cookie and
// decides nothing: the session's own browser does, when it comes back.
func (p *Pages) receive(scheme string) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("Cache-Control", "no-store")
		return p.received(c, scheme)
	}
}

func (p *Pages) received(c echo.Context, scheme string) error {
	req := c.Request()
	req.Body = http.MaxBytesReader(c.Response(), req.Body, maxPresentation)
	v, err := p.visit(c)
	if err != nil {
		return err
	}
	if !v.tenant.Allows(string(session.WayWallet)) || req.ParseForm() != nil {
		return refuseAnswer(c)
	}
	id := c.Param("request")
	err = p.cfg.Wallets.Receive(req.Context(), v.sess, id, scheme, p.responseURI(v.path, id, scheme), req.PostForm)
	switch reason := wallet.ReasonOf(err); {
	case err == nil, reason.Genuine(), reason.WalletError(): // the page says what it led to
		return c.JSON(http.StatusOK, map[string]string{"redirect_uri": p.cfg.VerifyURL + v.path + "/wallet"})
	case reason != "", isLate(err):
		return refuseAnswer(c)
	default:
		return err
	}
}

func refuseAnswer(c echo.Context) error {
	return c.JSON(http.StatusBadRequest, map[string]string{"error": "invalid_request"})
}
