package dashboard

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"agegate/internal/pages/dashboard/desk"
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

var cardsForm = &desk.Form{
	Name: "cards",
	Fields: []desk.Field{
		{Name: "name", Kind: "text", Max: session.MaxCardName, Hint: true},
		{Name: "outcome", Kind: "select", Options: append([]string{eachOutcome}, session.CardOutcomes...)},
		{Name: "target_age", Kind: "number", Max: 2},
	},
	Problems: map[error]string{session.ErrCardName: "name", session.ErrTooManyCards: "many"},
}

var revokeCardForm = &desk.Form{Name: "revoke_card"}

func (p *Pages) cards() desk.Feature {
	f := desk.Feature{Screens: []string{"cards", "sheet"}}
	f.Fill(desk.Route{Path: cardsPath, MinRole: desk.Developer, TestOnly: true}, cardsForm, p.makeCards)
	f.Ask(desk.Route{Path: revokeCardPath, MinRole: desk.Developer, TestOnly: true}, revokeCardForm, p.revokeCard)
	return f
}

type cardsView struct {
	desk.Layout
	Form  *desk.FormView
	Cards []cardRow
	Share int
}

// cardRow is a card in the list.
type cardRow struct {
	session.Card
	Today  int64  // sessions made today
	Revoke string // address
}

func (p *Pages) cardsPage(r *desk.Request, status int, f *desk.FormView) error {
	cards, err := p.cfg.Cards.List(r.Ctx(), r.Access.TenantID())
	if err != nil {
		return err
	}
	v := &cardsView{Form: f, Share: session.CardShare}
	for _, c := range cards {
		v.Cards = append(v.Cards, cardRow{c, c.UsedOn(p.cfg.Now()),
			strings.Replace(r.Href(revokeCardPath), ":card", c.ID.String(), 1)})
	}
	return r.Show(status, "cards", v)
}

// makeCards creates cards and shows their links. The links cannot be shown again.
func (p *Pages) makeCards(r *desk.Request) (q *desk.Question, err error) {
	var age int
	return &desk.Question{
		Begin: []string{"target_age", "18"},
		Show:  func(status int, f *desk.FormView) error { return p.cardsPage(r, status, f) },
		Check: func(f *desk.FormView) error {
			if age, err = strconv.Atoi(f.Value("target_age")); err != nil || !allowedAge(age) {
				f.Mark("target_age", "cards.problem.age", "min", minAge, "max", maxAge)
			}
			return nil
		},
		Do: func(f *desk.FormView) error {
			outcomes := []string{f.Value("outcome")}
			if outcomes[0] == eachOutcome {
				outcomes = session.CardOutcomes
			}
			made, err := p.cfg.Cards.Make(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), f.Value("name"), age, outcomes)
			if err != nil {
				return err
			}
			return p.showSheet(r, made)
		},
	}, nil
}

type sheetView struct {
	desk.Layout
	Cards []printedCard
	Here  bool // the cards lead a phone to itself
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

func (p *Pages) showSheet(r *desk.Request, made []session.MadeCard) error {
	v := &sheetView{Here: leadsHere(p.cfg.URL), Back: r.Href(cardsPath)}
	for _, c := range made {
		link := p.cfg.URL + strings.Replace(cardPath, ":token", c.Token, 1)
		modules, side, err := qrModules(link)
		if err != nil {
			return err
		}
		v.Cards = append(v.Cards, printedCard{c.Card, link, modules, side})
	}
	return r.Show(http.StatusOK, "sheet", v)
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
func (p *Pages) card(r *desk.Request) (session.Card, error) {
	id, err := r.ID("card")
	if err != nil {
		return session.Card{}, err
	}
	return p.cfg.Cards.Card(r.Ctx(), r.Access.TenantID(), id)
}

func (p *Pages) revokeCard(r *desk.Request) (*desk.Question, error) {
	card, err := p.card(r)
	return &desk.Question{
		Values: []any{"name", card.Name}, Facts: []page.Text{page.Say("revoke_card.fact")}, Back: r.Href(cardsPath),
		Do: func(*desk.FormView) error {
			if err := p.cfg.Cards.Revoke(r.Ctx(), r.Who.Actor(), r.Access.TenantID(), card.ID); err != nil {
				return err
			}
			return r.Done(r.Href(cardsPath), "card_revoked")
		},
	}, err
}

// cardPath is the page that a card's link opens. Anyone may open it.
const cardPath = "/dashboard/card/:token"

var cardForm = &desk.Form{Name: "card", Again: true, Problems: map[error]string{session.ErrCardUsedUp: "used_up"}}

func (p *Pages) scannedCard() desk.Feature {
	f := desk.Feature{Screens: []string{"card"}}
	f.Fill(desk.Route{Path: cardPath, Entry: true}, cardForm, p.useCard)
	return f
}

type cardView struct {
	desk.Layout
	session.Card
	Form *desk.FormView
	Go   string // address of the created session; empty if there is none
}

// useCard shows what a card does. This creates nothing, so that previews of the link
// have no effect. The form creates a session and shows a link to its page; it does not
// redirect, because the policy forbids forms to lead to another origin.
func (p *Pages) useCard(r *desk.Request) (*desk.Question, error) {
	card, err := p.cfg.Cards.ByLink(r.Ctx(), r.Param("token"))
	v := &cardView{Card: card}
	show := func(status int, f *desk.FormView) error {
		v.Form = f
		return r.Show(status, "card", v)
	}
	return &desk.Question{Show: show, Do: func(f *desk.FormView) error {
		link, err := p.cfg.Cards.Use(r.Ctx(), card, p.returnURL(card.TenantID))
		if fault.CodeOf(err) == fault.TooMany { // the card's share, or the tenant's cap
			if f.Refuse(err) != nil {
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
