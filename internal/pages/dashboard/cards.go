package dashboard

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"agegate/internal/pages/page"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"

	"rsc.io/qr"
)

const (
	cardsPath      = overviewPath + "/cards"
	revokeCardPath = cardsPath + "/:card/revoke"
)

// eachOutcome is the choice to make a card for every outcome.
const eachOutcome = "each"

var cardsForm = &form{
	name: "cards",
	fields: []field{
		{name: "name", kind: "text", max: session.MaxCardName, hint: true},
		{name: "outcome", kind: "select", options: append([]string{eachOutcome}, session.CardOutcomes...)},
		{name: "target_age", kind: "number", max: 2},
	},
	problems: map[error]string{session.ErrCardName: "name", session.ErrTooManyCards: "many"},
}

func (p *Pages) cards() feature {
	rt := func(method, path string, handle func(*request) error) route {
		return route{method: method, path: path, least: developer, testOnly: true, handle: handle}
	}
	return feature{
		routes: []route{
			rt(http.MethodGet, cardsPath, p.showCards),
			rt(http.MethodPost, cardsPath, p.makeCards),
			rt(http.MethodGet, revokeCardPath, p.askRevokeCard),
			rt(http.MethodPost, revokeCardPath, p.revokeCard),
		},
		screens: []string{"cards", "sheet", "confirm"},
		forms:   []*form{cardsForm},
		notices: []string{"card_revoked"},
		keys:    []string{"cards.problem.age", "cards.revoke_title", "cards.revoke_body", "cards.revoke_fact", "cards.revoke"},
	}
}

type cardsView struct {
	layout
	Form  *formView
	Cards []cardRow
	Share int
}

// cardRow is a card in the list.
type cardRow struct {
	session.Card
	Today  int64  // sessions made today
	Revoke string // address
}

func (p *Pages) showCards(r *request) error {
	f, err := r.blank(cardsForm)
	if err != nil {
		return err
	}
	return p.cardsPage(r, http.StatusOK, f.With("target_age", "18"))
}

func (p *Pages) cardsPage(r *request, status int, f *formView) error {
	cards, err := p.cfg.Cards.List(r.ctx(), r.access.TenantID())
	if err != nil {
		return err
	}
	v := &cardsView{Form: f, Share: session.CardShare}
	for _, c := range cards {
		v.Cards = append(v.Cards, cardRow{c, c.UsedOn(p.cfg.Now()), strings.Replace(r.path(revokeCardPath), ":card", c.ID.String(), 1)})
	}
	return r.render(status, "cards", v)
}

// makeCards makes cards and shows their links, this once.
func (p *Pages) makeCards(r *request) error {
	f, err := r.read(cardsForm)
	if err != nil {
		return err
	}
	age, err := strconv.Atoi(f.Value("target_age"))
	if err != nil || !allowedAge(age) {
		f.wrong("target_age", "cards.problem.age", "min", minAge, "max", maxAge)
	}
	if !f.ok() {
		return p.cardsPage(r, http.StatusUnprocessableEntity, f)
	}
	if err := r.once(f); err != nil {
		return err
	}
	outcomes := []string{f.Value("outcome")}
	if outcomes[0] == eachOutcome {
		outcomes = session.CardOutcomes
	}
	made, err := p.cfg.Cards.Make(r.ctx(), r.who.Actor(), r.access.TenantID(), f.Value("name"), age, outcomes)
	if err == nil {
		return p.showSheet(r, made)
	}
	if err := f.refuse(err); err != nil {
		return err
	}
	return p.cardsPage(r, http.StatusUnprocessableEntity, f)
}

type sheetView struct {
	layout
	Cards []printedCard
	Back  string
}

// printedCard is a new card with its link.
type printedCard struct {
	session.Card
	Link string
	// QR is the link's QR code as the path of an SVG whose sides are Side long.
	QR   string
	Side int
}

func (p *Pages) showSheet(r *request, made []session.MadeCard) error {
	v := &sheetView{Back: r.path(cardsPath)}
	for _, c := range made {
		link := p.cfg.URL + strings.Replace(cardPath, ":token", c.Token, 1)
		modules, side, err := qrModules(link)
		if err != nil {
			return err
		}
		v.Cards = append(v.Cards, printedCard{c.Card, link, modules, side})
	}
	return r.render(http.StatusOK, "sheet", v)
}

// quiet is the width of the empty border of a QR code, in modules (ISO/IEC 18004).
const quiet = 4

// qrModules returns the dark modules of a QR code as the path of an SVG, and the
// length of its sides with the border.
func qrModules(text string) (path string, side int, err error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", 0, err
	}
	var b strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			start := x
			for x < code.Size && code.Black(x, y) {
				x++
			}
			if x > start {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", start+quiet, y+quiet, x-start, x-start)
			}
		}
	}
	return b.String(), code.Size + 2*quiet, nil
}

// card returns the card that the path names.
func (r *request) card() (session.Card, error) {
	id, err := r.id("card")
	if err != nil {
		return session.Card{}, err
	}
	return r.pages.cfg.Cards.Card(r.ctx(), r.access.TenantID(), id)
}

func (p *Pages) askRevokeCard(r *request) error {
	card, err := r.card()
	if err != nil {
		return err
	}
	return r.confirm(&confirmView{
		Title: page.Say("cards.revoke_title"), Body: page.Say("cards.revoke_body", "name", card.Name),
		Facts: []page.Text{page.Say("cards.revoke_fact")}, Button: page.Say("cards.revoke"), Back: r.path(cardsPath),
	}, nil)
}

func (p *Pages) revokeCard(r *request) error {
	card, err := r.card()
	if err != nil {
		return err
	}
	if err := r.takeOnce(); err != nil {
		return err
	}
	if err := p.cfg.Cards.Revoke(r.ctx(), r.who.Actor(), r.access.TenantID(), card.ID); err != nil {
		return err
	}
	return r.done(r.path(cardsPath), "card_revoked")
}

// cardPath is the page that a card's link opens, for whoever has it.
const cardPath = "/dashboard/card/:token"

var cardForm = &form{name: "card", problems: map[error]string{session.ErrCardUsedUp: "used_up"}}

func (p *Pages) scannedCard() feature {
	return feature{
		routes: []route{
			{method: http.MethodGet, path: cardPath, handle: p.showCard},
			{method: http.MethodPost, path: cardPath, handle: p.useCard},
		},
		screens: []string{"card"},
		forms:   []*form{cardForm},
		keys:    []string{"card.problem.refused"},
	}
}

type cardView struct {
	layout
	session.Card
	Form *formView
	Go   string // where the session that was made goes on, or empty
}

// showCard shows what a card does. It makes nothing, so that previews of the link
// do not.
func (p *Pages) showCard(r *request) error {
	card, err := p.cfg.Cards.ByLink(r.ctx(), r.Param("token"))
	if err != nil {
		return err
	}
	f, err := r.blank(cardForm)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "card", &cardView{Card: card, Form: f})
}

// useCard makes a session. Its page is a link away, because the policy lets no
// form lead to another origin.
func (p *Pages) useCard(r *request) error {
	card, err := p.cfg.Cards.ByLink(r.ctx(), r.Param("token"))
	if err != nil {
		return err
	}
	f, err := r.read(cardForm)
	if err != nil {
		return err
	}
	v, status := &cardView{Card: card, Form: f}, http.StatusOK
	link, err := p.cfg.Cards.Use(r.ctx(), card)
	switch fault.CodeOf(err) {
	case fault.TooMany, fault.Invalid: // the card's share, the tenant's cap, or no callback URL
		status = http.StatusConflict
		if f.refuse(err) != nil {
			f.Fault = new(page.Say("card.problem.refused"))
		}
	default:
		if err != nil {
			return err
		}
		v.Go = link
	}
	return r.render(status, "card", v)
}
