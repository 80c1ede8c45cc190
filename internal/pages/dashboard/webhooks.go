package dashboard

import (
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
			"webhooks.reason_failing", "secret.active", "secret.retiring"},
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
	Filter    insight.DeliveryFilter
	To        string // the last day of the list; empty for today
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
	webhook.Endpoint
	Current bool // it is the registered URL
	Enable  string
}

// State is good, failing or disabled.
func (e endpointView) State() string {
	switch {
	case e.DisabledAt != nil:
		return "disabled"
	case e.FirstFailureAt != nil:
		return "failing"
	}
	return "good"
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
	query := r.QueryParams()
	v := &webhooksView{
		URL: r.Tenant.WebhookURL, Settings: r.Editing(urlsPath), MayAct: r.May(account.Develop),
		MayResend: r.May(account.Resend),
		Filter: insight.DeliveryFilter{Status: webhook.Status(query.Get("status")),
			Class: webhook.Class(query.Get("class"))}, To: query.Get("to"),
		Statuses: deliveryStatuses, Classes: deliveryClasses,
		All: r.Href(webhooksPath), TestEvent: r.Href(webhooksPath + "/test"),
		Resend: r.Href(webhooksPath + "/resend"),
		Reveal: r.Href(webhooksPath + "/secret"), Rotate: r.Href(webhooksPath + "/rotate"),
	}
	last, unread := time.ParseInLocation(time.DateOnly, v.To, r.Zone())
	if v.To != "" && unread != nil || v.Filter.Status != "" && !slices.Contains(deliveryStatuses, v.Filter.Status) ||
		v.Filter.Class != "" && !slices.Contains(deliveryClasses, v.Filter.Class) {
		return echo.ErrNotFound
	}
	before := query.Get("before")
	if before == "" && v.To != "" {
		before = "evt_" + insight.IDAt(last.AddDate(0, 0, 1)).String() // the day is included
	}
	found, err := p.cfg.Insight.Deliveries(r.Ctx(), r.Scope(), v.Filter, before)
	if err != nil {
		return err
	}
	for _, d := range found.Rows {
		v.Rows = append(v.Rows, deliveryRow{d, stateOf(d.Record), r.Href(webhooksPath) + "/events/" + d.ID})
	}
	v.page(query, found.Next)
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

// page sets the addresses of the previous and the next page.
func (v *webhooksView) page(query url.Values, next string) {
	kept := url.Values{}
	for name, value := range map[string]string{
		"status": string(v.Filter.Status), "class": string(v.Filter.Class), "to": v.To,
	} {
		if value != "" {
			kept.Set(name, value)
		}
	}
	v.Filtered = len(kept) > 0
	if query.Get("before") != "" {
		v.Newest = "?" + kept.Encode()
	}
	if next != "" {
		kept.Set("before", next)
		v.Older = "?" + kept.Encode()
	}
}

// endpoints returns the registered URL and earlier ones that fail.
func (p *Pages) endpoints(r *desk.Request) ([]endpointView, error) {
	failing, err := p.cfg.Webhooks.Endpoints(r.Ctx(), deliveryScope(r))
	if err != nil {
		return nil, err
	}
	var list []endpointView
	current := webhook.EndpointID(r.Access.TenantID(), r.Access.Livemode(), r.Tenant.WebhookURL)
	if current != "" {
		list = append(list, endpointView{Endpoint: webhook.Endpoint{ID: current, URL: r.Tenant.WebhookURL}, Current: true})
	}
	for _, e := range failing {
		view := endpointView{Endpoint: e, Current: e.ID == current}
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
