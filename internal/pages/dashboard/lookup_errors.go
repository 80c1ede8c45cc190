package dashboard

import (
	"strconv"
	"strings"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
)

// errorsNamed returns the rejected requests whose ID a text, in lower case, is, and the
// parts of the guide to errors whose heading it is or has in quotes, as a body has them.
func (p *Pages) errorsNamed(r *desk.Request, text string) (hits []hitView, err error) {
	for _, livemode := range livemodesOf(r) {
		if len(text) < 16 || !r.Opens(refusalsPath) {
			break
		}
		all, err := p.cfg.Insight.Refusals(r.Ctx(), insight.Scope{TenantID: r.Access.TenantID(), Livemode: livemode})
		if err != nil {
			return nil, err
		}
		for i, c := range all {
			if strings.EqualFold(c.RequestID, text) {
				row := "?page=" + strconv.Itoa(i/insight.PageSize+1) + "#" + c.RequestID
				hits = append(hits, hitView{Kind: "nav.refusals", Name: c.RequestID, Mode: modeName(livemode),
					recordLink: recordLink{Href: inMode(r, livemode, refusalsPath) + row, Livemode: livemode}})
			}
		}
	}
	for _, s := range p.cfg.Sections("errors", "###") {
		name := strings.ToLower(s[0])
		if text == name || strings.Contains(text, `"`+name+`"`) {
			hits = append(hits, hitView{Kind: "lookup.error", Name: s[0],
				recordLink: recordLink{Href: r.Docs() + "/errors#" + s[1], Livemode: r.Access.Livemode()}})
		}
	}
	return hits, nil
}
