package dashboard

import (
	"strconv"
	"strings"

	"agegate"
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
	guide, err := agegate.Docs.ReadFile("docs/guides/errors.md")
	for line := range strings.Lines(string(guide)) {
		title, found := strings.CutPrefix(strings.TrimSpace(line), "### ")
		name := strings.ToLower(title)
		if found && (text == name || strings.Contains(text, `"`+name+`"`)) {
			place := r.Docs() + "/errors#" + strings.ReplaceAll(name, " ", "-")
			hits = append(hits, hitView{Kind: "lookup.error", Name: title,
				recordLink: recordLink{Href: place, Livemode: r.Access.Livemode()}})
		}
	}
	return hits, err
}
