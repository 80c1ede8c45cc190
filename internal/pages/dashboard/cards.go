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

// eachOutcome is the choice of one card for every outcome.
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

var revokeCardForm = &form{name: "revoke_card"}

func (p *Pages) cards() feature {
	f := feature{screens: []string{"cards", "sheet"}}
	f.fill(route{path: cardsPath, minRole: developer, testOnly: true}, cardsForm, p.makeCards)
	f.ask(route{path: revokeCardPath, minRole: developer, testOnly: true}, revokeCardForm, p.revokeCard)
	return f
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

func (p *Pages) cardsPage(r *request, status int, f *formView) error {
	cards, err := p.cfg.Cards.List(r.ctx(), r.access.TenantID())
	if err != nil {
		return err
	}
	v := &cardsView{Form: f, Share: session.CardShare}
	for _, c := range cards {
		v.Cards = append(v.Cards, cardRow{c, c.UsedOn(p.cfg.Now()),
			strings.Replace(r.path(revokeCardPath), ":card", c.ID.String(), 1)})
	}
	return r.render(status, "cards", v)
}

// makeCards creates cards and shows their links, only this time.
func (p *Pages) makeCards(r *request) (q *question, err error) {
	var age int
	return &question{
		begin: []string{"target_age", "18"},
		show:  func(status int, f *formView) error { return p.cardsPage(r, status, f) },
		check: func(f *formView) error {
			if age, err = strconv.Atoi(f.Value("target_age")); err != nil || !allowedAge(age) {
				f.wrong("target_age", "cards.problem.age", "min", minAge, "max", maxAge)
			}
			return nil
		},
		do: func(f *formView) error {
			outcomes := []string{f.Value("outcome")}
			if outcomes[0] == eachOutcome {
				outcomes = session.CardOutcomes
			}
			made, err := p.cfg.Cards.Make(r.ctx(), r.who.Actor(), r.access.TenantID(), f.Value("name"), age, outcomes)
			if err != nil {
				return err
			}
			return p.showSheet(r, made)
		},
	}, nil
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

func (p *Pages) revokeCard(r *request) (*question, error) {
	card, err := r.card()
	return &question{
		Values: []any{"name", card.Name}, Facts: []page.Text{page.Say("revoke_card.fact")}, Back: r.path(cardsPath),
		do: func(*formView) error {
			if err := p.cfg.Cards.Revoke(r.ctx(), r.who.Actor(), r.access.TenantID(), card.ID); err != nil {
				return err
			}
			return r.done(r.path(cardsPath), "card_revoked")
		},
	}, err
}

// cardPath is the page that a card's link opens. Anyone may open it.
const cardPath = "/dashboard/card/:token"

var cardForm = &form{name: "card", again: true, problems: map[error]string{session.ErrCardUsedUp: "used_up"}}

func (p *Pages) scannedCard() feature {
	f := feature{screens: []string{"card"}}
	f.fill(route{path: cardPath}, cardForm, p.useCard)
	return f
}

type cardView struct {
	layout
	session.Card
	Form *formView
	Go   string // address of the created session; empty if there is none
}

// useCard shows what a card does. Showing creates nothing, so that previews of
// the link have no effect. The form creates a session and shows a link to its
// page, because the policy forbids forms to lead to another origin.
func (p *Pages) useCard(r *request) (*question, error) {
	card, err := p.cfg.Cards.ByLink(r.ctx(), r.Param("token"))
	v := &cardView{Card: card}
	show := func(status int, f *formView) error {
		v.Form = f
		return r.render(status, "card", v)
	}
	return &question{show: show, do: func(f *formView) error {
		link, err := p.cfg.Cards.Use(r.ctx(), card, p.returnURL(card.TenantID))
		if fault.CodeOf(err) == fault.TooMany { // the card's share, or the tenant's cap
			if f.refuse(err) != nil {
				f.Fault = new(page.Say("card.problem.refused"))
			}
			return nil
		}
		if err != nil {
			return err
		}
		v.Go = link
		return show(http.StatusOK, f)
	}}, err
}
