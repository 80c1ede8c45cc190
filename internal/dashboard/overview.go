package dashboard

import "net/http"

func (p *Pages) overview() feature {
	return feature{
		routes:  []route{{method: http.MethodGet, path: overviewPath, least: viewer, handle: p.showOverview}},
		screens: []string{"overview"},
		keys:    []string{"overview.success", "overview.cancel", "overview.webhook"},
	}
}

type overviewView struct {
	layout
	ID       string // the tenant's
	Docs     string // the API reference
	Settings []settingView
}

// settingView is one callback URL, or that it is not set.
type settingView struct{ Name, URL string }

func (p *Pages) showOverview(r *request) error {
	t := r.tenant
	return r.render(http.StatusOK, "overview", &overviewView{ID: t.ID.String(), Docs: "/docs", Settings: []settingView{
		{"success", t.SuccessURL}, {"cancel", t.CancelURL}, {"webhook", t.WebhookURL},
	}})
}
