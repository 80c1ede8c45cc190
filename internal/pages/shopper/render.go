package shopper

import (
	"fmt"
	"slices"
	"time"

	"agegate/internal/check/document/photo"
	"agegate/internal/check/document/wallet"
	"agegate/internal/pages/page"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/labstack/echo/v4"
)

// layout is the view of the frame around every page. The view of each screen embeds it.
type layout struct {
	page.Frame
	look
	Path      string // path of the page that shows the session's state
	Test      bool   // a test session: carries the banner
	Forcible  bool   // it is still open: the banner offers the outcomes
	Spoofable bool   // spoof is one of them
	Provable  bool   // a document after a refused estimate is one of them
	// Form is where the page's form with a box to tick is sent; empty without one. Sent
	// with lang, it is shown again in that language, and keeps the tick.
	Form string
	left time.Duration // until the session expires
	// The rest is filled in by complete.
	Assisted  bool   // the shopper cannot move their head
	LinkFirst bool   // a hand-over to another browser on this device: its link replaces the QR code
	Operator  string // the operator's name; may be empty
	Links     []footerLink
}

func (l *layout) base() *layout { return l }

// view is the data of one screen.
type view interface {
	page.View
	base() *layout
}

// screens are the templates that the handlers render.
var screens = []string{
	"intro", "consent", "camera", "document", "fallback", "spoof", "notice", "onward", "handover", "phone",
	"wallet", "sample", "photo", "privacy",
}

// awaiting are the screens that wait for the shopper and ask the server for nothing. The
// browser leaves them for the session's page when the session has expired.
var awaiting = []string{"intro", "consent", "camera", "document", "photo"}

// composedKeys lists the texts for which templates compose the keys.
func composedKeys() []string {
	keys := slices.Concat(
		page.Keys("intro.prefer.", "wallet", "photo", "both"),
		page.Keys("document.way.", session.WayWallet, session.WayPhoto),
		page.Keys("document.about.", session.WayWallet, session.WayPhoto),
		page.Keys("document.refused.", append(slices.Clip(photo.Refusals), photo.Doubtful)...),
		page.Keys("document.refused.", wallet.ReasonExpired, wallet.ReasonRevoked, wallet.ReasonUnderAge, requestGone),
		page.Keys("film.", photo.Hints...),
		page.Keys("wallet.refused.", wallet.Complaints...),
		page.Keys("wallet.app.", wallet.SchemeProofOfAge, wallet.SchemeOpenID, wallet.SchemeHAIP),
		page.Keys("wallet.open.", wallet.SchemeProofOfAge, wallet.SchemeOpenID, wallet.SchemeHAIP),
		page.Keys("camera.", session.WhyAgain, session.WhyLeft, session.WhyAstray, session.WhyUnmoved, session.WhyHasty,
			session.WhyDrawn, session.WhyUnsure),
		page.Keys("trouble.refused.", families...),
		page.Keys("fallback.", reasons...), page.Keys("page.", "privacy", "help", "terms", "imprint"),
	)
	for name := range notices {
		keys = append(keys, "notice."+name+".title", "notice."+name+".body")
	}
	for _, kind := range troubles {
		keys = append(keys, "trouble."+kind+".title", "trouble."+kind+".body", "trouble."+kind+".action")
	}
	return keys
}

// render writes a screen in the browser's language.
func (p *Pages) render(c echo.Context, status int, screen string, v view) error {
	l := v.base()
	p.complete(c, l)
	if slices.Contains(awaiting, screen) && l.left > 0 {
		c.Response().Header().Set("Refresh", fmt.Sprintf("%d; url=%s", int(l.left.Seconds())+2, l.Path))
	}
	return p.pages.Render(c, status, screen, v)
}

// complete fills in the part of a layout that is the same on all pages.
func (p *Pages) complete(c echo.Context, l *layout) {
	l.Assisted, l.LinkFirst = assisted(c), c.QueryParam("link") == "first"
	l.Operator = p.cfg.Operator.Name
	l.Offered = l.languages
	all := footerLinks(l.links.Or(p.cfg.Operator.Links).Or(tenant.Links{PrivacyURL: PrivacyPath}), p.cfg.Operator.Imprint)
	l.Links = slices.DeleteFunc(all, func(to footerLink) bool { return to.URL == l.Path }) // no page links to itself
}
