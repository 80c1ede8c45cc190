package dashboard

import (
	"cmp"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

const refusalsPath = overviewPath + "/refusals"

func (p *Pages) refusals() desk.Feature {
	return desk.Feature{
		Routes:  []desk.Route{{Method: http.MethodGet, Path: refusalsPath, MinRole: desk.Refused, Handle: p.showRefusals}},
		Screens: []string{"refusals"},
		Keys:    []string{whyKey + "missing_url", whyKey + "value_error_header"},
	}
}

const whyKey = "refusals.why."

type refusalsView struct {
	desk.Layout
	Rows []refusalView
	desk.Pager
	Docs string
}

type refusalView struct {
	insight.RefusalCount
	Path []string   // the route, in parts between which a line may break
	Key  string     // its name, or its hint; empty if unknown
	Docs string     // address of its explanation in the guide to errors
	Why  *page.Text // the reason in words; nil if there are none
}

// why returns the reason of a refusal in words, or nil for an unknown type.
func (p *Pages) why(r insight.Refusal) *page.Text {
	place, field, _ := strings.Cut(r.Loc, ".")
	kind, _, _ := strings.Cut(r.Type, ".")
	keys := []string{whyKey + r.Type, whyKey + kind}
	switch {
	case r.Type == "missing" && strings.HasSuffix(field, "_url"):
		keys[0] = whyKey + "missing_url"
	case r.Type == "value_error" && place == "header":
		keys[0] = whyKey + "value_error_header"
	}
	for _, key := range keys {
		if p.Set.Has(key) {
			return new(page.Say(key, "field", cmp.Or(field, place)))
		}
	}
	return nil
}

// anchor matches the anchors of the guide to errors.
var anchor = regexp.MustCompile(`^[a-z_-]+$`)

// headingOf returns the anchor of a refusal in the guide to errors, or nothing for an unknown type. A 422 stands there
// by its type, another refusal by its text.
func headingOf(r insight.Refusal) string {
	heading, cause, _ := strings.Cut(r.Type, ".")
	if r.Status != http.StatusUnprocessableEntity && r.Status != http.StatusPaymentRequired {
		heading = cmp.Or(cause, strings.ReplaceAll(heading, "_", "-"))
	}
	if !anchor.MatchString(heading) {
		return ""
	}
	return "#" + heading
}

// showRefusals lists the refused API requests, at most some hundred.
func (p *Pages) showRefusals(r *desk.Request) error {
	number := 1
	if given := r.QueryParam("page"); given != "" {
		var err error
		if number, err = strconv.Atoi(given); err != nil || number < 1 {
			return echo.ErrNotFound
		}
	}
	all, err := p.cfg.Insight.Refusals(r.Ctx(), r.Scope())
	if err != nil {
		return err
	}
	keys, err := p.cfg.Tenants.Keys(r.Ctx(), r.Access.TenantID())
	if err != nil {
		return err
	}
	names := map[uuid.UUID]string{}
	for _, k := range keys {
		if names[k.ID] = k.Name; k.Name == "" {
			names[k.ID] = k.Hint()
		}
	}
	v := &refusalsView{Docs: p.cfg.APIURL + "/docs"}
	from := min((min(number, len(all)+1)-1)*insight.PageSize, len(all))
	to := min(from+insight.PageSize, len(all))
	for _, refusal := range all[from:to] {
		view := refusalView{
			refusal, strings.SplitAfter(refusal.Route, "/"), names[refusal.KeyID],
			v.Docs + "/errors" + headingOf(refusal.Refusal), p.why(refusal.Refusal),
		}
		view.Type, _, _ = strings.Cut(view.Type, ".")
		v.Rows = append(v.Rows, view)
	}
	if number > 1 {
		v.Newer = "?page=" + strconv.Itoa(number-1)
	}
	if to < len(all) {
		v.Older = "?page=" + strconv.Itoa(number+1)
	}
	return r.Show(http.StatusOK, "refusals", v)
}
