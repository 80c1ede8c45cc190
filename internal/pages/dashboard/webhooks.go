package dashboard

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/labstack/echo/v4"
)

const webhooksPath = overviewPath + "/webhooks"

// The filters of the list of deliveries.
var (
	deliveryStatuses = []webhook.Status{
		webhook.StatusPending, webhook.StatusDelivered, webhook.StatusFailed, webhook.StatusWaiting,
		webhook.StatusNoDestination,
	}
	deliveryClasses = []webhook.Class{
		webhook.ClassDelivered, webhook.ClassStatus, webhook.ClassRedirect, webhook.ClassDNS, webhook.ClassBlocked,
		webhook.ClassConnect, webhook.ClassTLS, webhook.ClassTimeout,
	}
	deliveryTones = map[webhook.Status]string{
		webhook.StatusPending: "plain", webhook.StatusDelivered: "good", webhook.StatusFailed: "bad",
		webhook.StatusWaiting: "warn", webhook.StatusNoDestination: "plain",
	}
)

func (p *Pages) webhooks() desk.Feature {
	f := desk.Feature{
		Routes:  []desk.Route{{Method: http.MethodGet, Path: webhooksPath, MinRole: desk.Reader, Handle: p.showWebhooks}},
		Screens: []string{"webhooks"},
		Keys: []string{"delivery.retrying", "delivery.event", "delivery.order", "webhooks.reason_gone",
			"webhooks.reason_failing", "webhooks.state_failing", "webhooks.state_retrying", "webhooks.state_disabled",
			"secret.active", "secret.retiring"},
		Funcs: template.FuncMap{"standing": p.standing},
	}
	for _, status := range deliveryStatuses {
		f.Keys = append(f.Keys, "delivery."+string(status))
		if status != webhook.StatusDelivered { // says it by its name
			f.Keys = append(f.Keys, "delivery.means_"+string(status))
		}
	}
	for _, class := range deliveryClasses {
		f.Keys = append(f.Keys, "delivery.class_"+string(class))
		if class != webhook.ClassDelivered {
			f.Keys = append(f.Keys, "delivery.explains_"+string(class))
		}
	}
	return f
}

type webhooksView struct {
	desk.Layout
	URL       string
	Settings  string // address where the URL is set
	Endpoints []endpointView
	Secrets   []secretView
	MayAct    bool // the user is a developer
	MayResend bool
	Asked     map[string]string // the filter
	Statuses  []webhook.Status
	Classes   []webhook.Class
	Rows      records[deliveryRow]
	Filtered  bool
	desk.Pager

	// Addresses.
	All, TestEvent, Resend, Reveal, Rotate string
}

// endpointView is a destination and its state.
type endpointView struct {
	webhook.Failing
	Current bool // it is the registered URL
	Quiet   bool // nothing was delivered lately
	Enable  string
}

// standing is disabled, failing, retrying (as failing, for less than an hour: an attempt or two may be missed), or "".
func (p *Pages) standing(e webhook.Endpoint) string {
	switch {
	case e.DisabledAt != nil:
		return "disabled"
	case e.FirstFailureAt == nil:
		return ""
	case p.cfg.Now().Sub(*e.FirstFailureAt) < time.Hour:
		return "retrying"
	}
	return "failing"
}

type deliveryRow struct {
	insight.EventRow
	deliveryState
	Href string
}

// deliveryState is the key of an event's state and the tone of its badge.
type deliveryState struct{ State, Tone string }

func stateOf(e webhook.Record) deliveryState {
	if e.Status == webhook.StatusPending && e.LastClass != "" { // not while the first one is under way
		return deliveryState{"delivery.retrying", "warn"}
	}
	return deliveryState{"delivery." + string(e.Status), deliveryTones[e.Status]}
}

// Order is the merchant's order, or "".
func (d deliveryRow) Order() string { return d.OrderRef }

func (p *Pages) showWebhooks(r *desk.Request) error {
	v := &webhooksView{
		URL: r.Tenant.WebhookURL, Settings: r.Editing(urlsPath), MayAct: r.May(account.Develop),
		MayResend: r.May(account.Resend), Asked: map[string]string{}, Statuses: deliveryStatuses, Classes: deliveryClasses,
		All: r.Href(webhooksPath), TestEvent: r.Href(webhooksPath + "/test"),
		Resend: r.Href(webhooksPath + "/resend"),
		Reveal: r.Href(webhooksPath + "/secret"), Rotate: r.Href(webhooksPath + "/rotate"),
	}
	filter, err := v.filter(r)
	if err != nil {
		return err
	}
	found, err := p.cfg.Insight.Deliveries(r.Ctx(), r.Scope(), filter, r.QueryParam("before"))
	if err != nil {
		return err
	}
	for _, d := range found.Rows {
		v.Rows = append(v.Rows, deliveryRow{d, stateOf(d.Record), r.Href(webhooksPath) + "/events/" + d.ID})
	}
	v.page(r.QueryParam("before") != "", found.Next)
	if r.Part() != "" {
		return r.Show(http.StatusOK, "webhooks", v)
	}
	if v.Endpoints, err = p.endpoints(r); err != nil {
		return err
	}
	if v.MayAct {
		if v.Secrets, err = p.secretViews(r, tenant.SecretWebhook); err != nil {
			return err
		}
	}
	return r.Show(http.StatusOK, "webhooks", v)
}

// filter parses the filter, or returns echo.ErrNotFound.
func (v *webhooksView) filter(r *desk.Request) (f insight.DeliveryFilter, err error) {
	for _, name := range []string{"status", "class", "from", "to"} {
		if value := r.QueryParam(name); value != "" {
			v.Asked[name] = value
		}
	}
	f.Status, f.Class = webhook.Status(v.Asked["status"]), webhook.Class(v.Asked["class"])
	for name, at := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		if given := v.Asked[name]; given != "" && err == nil {
			*at, err = time.ParseInLocation(time.DateOnly, given, r.Zone())
		}
	}
	if err != nil || f.Status != "" && !slices.Contains(deliveryStatuses, f.Status) ||
		f.Class != "" && !slices.Contains(deliveryClasses, f.Class) {
		return f, echo.ErrNotFound
	}
	if !f.To.IsZero() {
		f.To = f.To.AddDate(0, 0, 1) // the day is included
	}
	return f, nil
}

// page sets the addresses of the previous and the next page.
func (v *webhooksView) page(later bool, next string) {
	kept := url.Values{}
	for name, value := range v.Asked {
		kept.Set(name, value)
	}
	v.Filtered = len(kept) > 0
	if later {
		v.Newest = "?" + kept.Encode()
	}
	if next != "" {
		kept.Set("before", next)
		v.Older = "?" + kept.Encode()
	}
}

// currentEndpoint is the ID of the registered URL, or "".
func currentEndpoint(r *desk.Request) string {
	return webhook.EndpointID(r.Access.TenantID(), r.Access.Livemode(), r.Tenant.WebhookURL)
}

// endpoints returns the registered URL and earlier ones that fail.
func (p *Pages) endpoints(r *desk.Request) ([]endpointView, error) {
	failing, err := p.cfg.Webhooks.Endpoints(r.Ctx(), deliveryScope(r))
	if err != nil {
		return nil, err
	}
	var list []endpointView
	current := currentEndpoint(r)
	if current != "" {
		delivered := insight.DeliveryFilter{Status: webhook.StatusDelivered}
		lately, err := p.cfg.Insight.Deliveries(r.Ctx(), r.Scope(), delivered, "")
		if err != nil {
			return nil, err
		}
		quiet := !slices.ContainsFunc(lately.Rows, func(e insight.EventRow) bool { return e.EndpointID == current })
		list = append(list, endpointView{
			webhook.Failing{Endpoint: webhook.Endpoint{ID: current, URL: r.Tenant.WebhookURL}}, true, quiet, ""})
	}
	for _, e := range failing {
		view := endpointView{Failing: e, Current: e.ID == current}
		if e.DisabledAt != nil {
			view.Enable = r.Href(webhooksPath) + "/endpoints/" + e.ID + "/enable"
		}
		if view.Current {
			list[0] = view
		} else {
			list = append(list, view)
		}
	}
	return list, nil
}

// pastWindows are the times that can be chosen for an act on past deliveries.
var pastWindows = map[string]time.Duration{
	"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": webhook.Retention,
}
