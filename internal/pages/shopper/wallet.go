package shopper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"

	"agegate/internal/check/document"
	"agegate/internal/check/document/wallet"
	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"

	"github.com/labstack/echo/v4"
)

// maxPresentation is the maximum size of a body with a wallet's answer: base64 twice, plus the form's escapes.
const maxPresentation = 3 * wallet.MaxResponseBytes

// registerWallet registers the document check by wallet.
func (p *Pages) registerWallet(e *echo.Echo) {
	getOrHead := []string{http.MethodGet, http.MethodHead}
	e.Match(getOrHead, "/v/:token/wallet", p.at(p.walletable, p.showWallet), page.Compress)
	e.GET("/v/:token/wallet/state", p.walletState)
	e.POST("/v/:token/wallet/browser", p.presentInBrowser)
	// Wallets post to these addresses; their requests have no origin and no cookie. Each scheme of links has its own
	// address, because each needs another form of answer.
	for _, f := range walletForms {
		e.POST(f.path("/v/:token", ":request"), p.receive(f))
	}
	for _, f := range []walletForm{formHere, formCode} {
		e.GET(f.requestPath("/v/:token", ":request"), p.signedRequest(f))
		e.POST(f.requestPath("/v/:token", ":request"), p.signedRequest(f))
	}
	e.Match(getOrHead, samplePath+":request", p.showSample, page.Compress)
	e.POST(samplePath+":request", p.answerSample, p.pages.SameOrigin)
}

// walletView is the page from which a wallet is asked.
type walletView struct {
	layout
	exit
	OtherWay  bool   // the choice that the page leads back to has another way
	State     string // of the request; see walletState
	Refused   string // one of wallet.Complaints, about the last answer; may be empty
	Requests  string // JSON, for the Digital Credentials API
	Apps      []walletApp
	BirthDate bool   // a wallet may share the birth date
	Mobile    bool   // the browser is on a phone, which may have the wallet; others show a code first
	Sample    string // relative link to the sample wallet; empty in live mode
}

// walletApp is a kind of wallet that a link or a QR code opens.
type walletApp struct {
	Name string // of the texts wallet.<name>…
	Link template.URL
	QR   template.URL // PNG of the link
}

// showWallet answers GET /v/{token}/wallet: the request to a wallet, or where its answer leads.
func (p *Pages) showWallet(c echo.Context, v visit) error {
	request, err := p.cfg.Wallets.RequestOf(c.Request().Context(), v.sess)
	if fault.CodeOf(err) == fault.NotFound {
		return p.onward(c, v, v.afterDocument(requestGone))
	}
	if err != nil {
		return err
	}
	if c.Request().Method == http.MethodGet {
		if request.Final {
			after, reason, err := p.cfg.Wallets.Finish(c.Request().Context(), v.sess, request)
			if err != nil && !isLate(err) {
				return err
			}
			v.sess = after
			return p.onward(c, v, v.afterDocument(reason))
		}
		after, returned, err := p.cfg.Wallets.Return(c.Request().Context(), v.sess, request, c.QueryParam("response_code"))
		if err != nil && !isLate(err) {
			return err
		}
		if returned {
			v.sess = after
			return p.onward(c, v, v.path)
		}
	}
	view, err := p.walletViewOf(c.Request().Context(), v, request)
	if err != nil {
		return err
	}
	ways, err := p.ways(c, v)
	if err != nil {
		return err
	}
	view.OtherWay, view.Mobile = len(ways) > 1, mobile(c)
	return p.render(c, http.StatusOK, "wallet", view)
}

// answered reports whether a wallet's final answer waits for the wallet page in the
// session's own browser. A failed read counts as no.
func (p *Pages) answered(c echo.Context, v visit) bool {
	if !v.sess.DocumentOpen() || !p.allowsWallet(v) {
		return false
	}
	request, err := p.cfg.Wallets.RequestOf(c.Request().Context(), v.sess)
	return err == nil && request.Final
}

// requestGone is why the page leads back from a wallet although no document was refused.
const requestGone wallet.Reason = "gone"

// afterDocument returns the address to show after a document was read. It is the session's page, which says why the
// document was refused while another one may be tried.
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
		layout: p.layoutOf(v), exit: exitOf(v), State: stateOf(r), Requests: string(encoded),
		BirthDate: exchange.AsksPID(),
	}
	if r.Outcome != "" && !r.Final {
		view.Refused = wallet.Reason(r.Outcome).Complaint()
	}
	for _, scheme := range exchange.Schemes() {
		app, err := p.walletAppOf(ctx, v, r, exchange, scheme)
		if err != nil {
			return nil, err
		}
		view.Apps = append(view.Apps, app)
	}
	if !v.sess.Livemode {
		link, err := exchange.Link(wallet.SchemeOpenID, v.sess.TargetAge, p.responseURI(v.path, r.ID, formUnsigned))
		if err != nil {
			return nil, err
		}
		view.Sample = sampleLink(link)
	}
	return view, nil
}

// signedRequest answers GET and POST at a form's requestPath. Wallets fetch a signed
// request there (OpenID4VP 1.0, 5.10).
func (p *Pages) signedRequest(f walletForm) echo.HandlerFunc {
	return p.fromWallet(maxRequestQuestion, f, func(c echo.Context, v visit) error {
		req := c.Request()
		object, err := p.cfg.Wallets.SignedRequest(req.Context(), v.sess, req.PostForm.Get("wallet_nonce"),
			func(id string) string {
				return p.responseURI(v.path, id, f)
			})
		if isLate(err) {
			return refuseAnswer(c)
		}
		if err != nil {
			return err
		}
		return c.Blob(http.StatusOK, wallet.RequestObjectType, []byte(object))
	})
}

// fromWallet reads a wallet's HTTP request about a session, with a form of at most
// limit bytes. It refuses a request that the tenant does not allow.
func (p *Pages) fromWallet(limit int64, f walletForm, answer func(c echo.Context, v visit) error) echo.HandlerFunc {
	read := p.visit
	if f.code {
		read = p.visitByCode
	}
	return func(c echo.Context) error {
		c.Response().Header().Set("Cache-Control", "no-store")
		req := c.Request()
		req.Body = http.MaxBytesReader(c.Response(), req.Body, limit)
		v, err := read(c)
		if f.code && fault.CodeOf(err) == fault.NotFound { // the request is over
			return refuseAnswer(c)
		}
		if err != nil {
			return err
		}
		if !v.tenant.Allows(string(session.WayWallet)) || req.ParseForm() != nil {
			return refuseAnswer(c)
		}
		return answer(c, v)
	}
}

// maxRequestQuestion is the maximum size of what a wallet sends about itself when it fetches a request.
const maxRequestQuestion = 16 << 10

// The states of a request in its page's script.
const (
	walletOver = "over" // the session's page shows how it continues
	walletOpen = "open" // no answer yet
)

// stateOf returns the state of a request. A refused answer leaves the request open; the page then shows the reason.
func stateOf(r document.Request) string {
	if r.Final {
		return walletOver
	}
	return cmp.Or(r.Outcome, walletOpen)
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

// presentInBrowser answers POST /v/{token}/wallet/browser with the result of the
// Digital Credentials API. The page then goes to next.
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
		return c.JSON(http.StatusOK, map[string]string{"refused": reason.Complaint()})
	default:
		return err
	}
}

// receive answers POST at a form's path. Wallets post their answers to links there
// (OpenID4VP 1.0, 8.2). It needs no cookie and decides nothing: the session is decided
// when its own browser returns. A wallet on another device has nothing to return to.
func (p *Pages) receive(f walletForm) echo.HandlerFunc {
	return p.fromWallet(maxPresentation, f, func(c echo.Context, v visit) error {
		req := c.Request()
		id := c.Param("request")
		code, err := p.cfg.Wallets.Receive(req.Context(), v.sess, document.Post{
			ID: id, Scheme: f.scheme, Here: f.here, ResponseURI: p.responseURI(v.path, id, f), Form: req.PostForm,
		})
		switch reason := wallet.ReasonOf(err); {
		case err == nil, reason.Genuine(), reason.WalletError(): // the page shows the consequence
			if f.code {
				return c.JSON(http.StatusOK, map[string]string{})
			}
			back := p.cfg.VerifyURL + v.path + "/wallet"
			if code != "" {
				back += "?response_code=" + code
			}
			return c.JSON(http.StatusOK, map[string]string{"redirect_uri": back})
		case reason != "", isLate(err):
			return refuseAnswer(c)
		default:
			return err
		}
	})
}

func refuseAnswer(c echo.Context) error {
	return c.JSON(http.StatusBadRequest, map[string]string{"error": "invalid_request"})
}
