package shopper

import (
	"errors"
	"net/http"
	"slices"

	"agegate/internal/backoffice/insight"
	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/session"

	"github.com/labstack/echo/v4"
)

// documentView is the choice between the ways of the document check.
type documentView struct {
	layout
	exit
	Preferred bool          // no estimate came before
	Ended     bool          // a camera check ended without one
	Said      string        // the key of why; empty if the page does not name it
	Mobile    bool          // the browser is on a phone, which may have the wallet
	Ways      []session.Way // if empty, the check can only be declined
	Refused   wallet.Reason // of the last document; empty if there was none
	Left      int           // documents that may still be refused
	UsedUp    bool          // no camera time is left for documents
}

// offerDocument shows the choice. The query says why the last document was refused; an unknown value shows nothing.
func (p *Pages) offerDocument(c echo.Context, v visit) error {
	ways, err := p.ways(c, v)
	if err != nil {
		return err
	}
	camera := insight.StoryOf(v.sess, p.cfg.Sessions.Now()).Camera
	below := camera == insight.CameraBelow || camera == insight.CameraForced // a test shows what a shopper sees
	view := &documentView{layout: p.layoutOf(v), exit: exitOf(v), Mobile: mobile(c),
		Preferred: !below, Ended: v.sess.BegunAt != nil && !below,
		Ways: ways, Left: v.sess.DocumentsLeft(),
		UsedUp: p.cfg.Photos != nil && v.tenant.Allows(string(session.WayPhoto)) && !p.cfg.Photos.Available(v.sess),
	}
	if why := v.sess.Why(); slices.Contains(insight.Explained, why) {
		view.Said = insight.Said(why)
	}
	if reason := wallet.Reason(c.QueryParam("refused")); reason == requestGone ||
		reason.Genuine() && v.sess.DocumentAttempts > 0 {
		view.Refused = reason
	}
	return p.render(c, http.StatusOK, "document", view)
}

// ways returns the ways of the document check that a session may take, in the operator's order.
func (p *Pages) ways(c echo.Context, v visit) (ways []session.Way, err error) {
	if p.allowsWallet(v) {
		available, err := p.cfg.Wallets.Available(c.Request().Context(), v.sess)
		if err != nil {
			return nil, err
		}
		if available {
			ways = append(ways, session.WayWallet)
		}
	}
	if p.allowsPhoto(v) {
		ways = append(ways, session.WayPhoto)
	}
	slices.SortStableFunc(ways, func(a, b session.Way) int {
		return slices.Index(p.cfg.Ways, a) - slices.Index(p.cfg.Ways, b)
	})
	return ways, nil
}

// walletable reports whether a session may be checked by a wallet.
func (p *Pages) walletable(v visit) bool {
	return p.screenOf(v) == screenDocument && p.allowsWallet(v)
}

func (p *Pages) allowsWallet(v visit) bool {
	return p.cfg.Wallets != nil && v.tenant.Allows(string(session.WayWallet))
}

// choices returns the ways of the document check that a session may take instead of the
// camera check or after it. It returns none if the tenant has the document check off.
func (p *Pages) choices(c echo.Context, v visit) ([]session.Way, error) {
	if !v.tenant.OffersDocument() {
		return nil, nil
	}
	return p.ways(c, v)
}

// document answers POST /v/{token}/document: the shopper chooses a way or declines the offer.
func (p *Pages) document(c echo.Context, v visit) error {
	var err error
	next := v.path
	if choice := session.Way(c.FormValue("choice")); choice == "decline" {
		v.sess, err = p.cfg.Sessions.Resolve(c.Request().Context(), v.sess,
			session.CheckResult{Result: session.ResultFallback, Source: session.SourceDocument})
	} else {
		ways, waysErr := p.ways(c, v)
		if waysErr != nil {
			return waysErr
		}
		if !slices.Contains(ways, choice) {
			return echo.ErrBadRequest
		}
		next, err = p.begin(c, v, choice)
	}
	if err != nil && !isLate(err) {
		return err
	}
	return p.onward(c, v, next)
}

// begin begins a way of the document check and returns its page.
func (p *Pages) begin(c echo.Context, v visit, way session.Way) (next string, err error) {
	if way == session.WayPhoto {
		err = p.cfg.Photos.Begin(c.Request().Context(), v.sess)
	} else {
		err = p.cfg.Wallets.Begin(c.Request().Context(), v.sess)
	}
	switch {
	case errors.Is(err, session.ErrAnswered):
		return v.path + "/wallet", nil
	case err == nil: // choosing again has withdrawn the consent to film
		p.documents.stop(v.sess.ID, closeReload, "the shopper has chosen again")
	case !isLate(err):
		return v.path, err
	}
	return v.path + "/" + string(way), nil
}
