package dashboard

import (
	"cmp"
	"slices"
	"time"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/tenant"
)

// Health is what the process that serves the dashboard knows of its installation.
type Health struct {
	Findings []Finding  // problems first
	Mail     bool       // a mail server is configured
	Metrics  bool       // the listener of the metrics is on
	Estimate bool       // none decides, or one that is not for research only; false if that is not known
	Backup   *time.Time // when the last known backup ended; nil for none
	Free     int64      // bytes left on the disk of the SQLite file; 0 if that is not known
}

// Finding is something that is not well.
type Finding struct {
	Name    string          // a key of FindingPlaces
	Problem bool            // something does not work; otherwise a warning
	Tenants []tenant.Tenant // that it is about; of many the first
}

// FindingPlaces are what agegate doctor and the page can find, with the heading in
// the documentation about each. The texts of the page are system.finding.<name> and
// system.advice.<name>. A finding without a heading keeps an item of setups open.
var FindingPlaces = map[string]string{
	"archive": "back-up#backup", "hidden": "back-up#backup", "old_backup": "back-up#backup", "standby": "back-up#backup",
	"list_empty": "issuers#published-lists", "list_ended": "issuers#published-lists",
	"list_failing": "issuers#published-lists", "ending": "issuers#trusted-issuers",
	"unlogged": "issuers#wallets-that-demand-to-know-who-asks", "unsent": "issuers#wallets-that-demand-to-know-who-asks",
	"https": "certificates#tls-and-the-reverse-proxy", "order": "certificates#tls-without-a-proxy", "retention": "",
	"secret_key": "back-up#keep-and-change-the-secret-key", "key_change": "back-up#keep-and-change-the-secret-key",
	"margin": "configure#set-the-estimator-and-the-margin", "callbacks": "configure#set-webhooks-and-callbacks",
	"security_contact": "configure#set-the-imprint-and-contacts", "webhooks": "trouble#a-tenants-webhooks-fail",
	"mails": "trouble#a-mail-is-not-sent", "sso": "staff#single-sign-on", "disk": "trouble#the-disk-is-full",
	"no_way": "trouble#nobody-can-pass", "spent": "tenants#add-credit", "no_backup": "", "operator_name": "",
}

// setups are the items of a new instance's checklist, whose texts are system.setup.<name>, with the heading of
// the documentation or the page of the dashboard where each is done. A gateway can go without the optional ones.
var setups = []struct {
	name, place, page string
	optional          bool
}{
	{name: "https", place: "certificates#tls-and-the-reverse-proxy"},
	{name: "estimate", place: "go-live#commercial-use-and-the-licence-of-the-estimate"},
	{name: "operator_name", place: "configure#set-the-imprint-and-contacts"},
	{name: "mail", place: "configure#set-a-mail-server", optional: true},
	{name: "metrics", place: "watch#metrics-and-logs", optional: true},
	{name: "retention", place: "stored#retention-how-long-it-is-kept-and-what-deletes-it"},
	{name: "backup", place: "back-up#backup"},
	{name: "second_factor", page: usersPath},
	{name: "tenant", page: newTenantPath},
}

// conditionView is what the page shows of the installation's health.
type conditionView struct {
	Findings []shownFinding
	Todo     []todoView // what the checklist has left of what is needed
	Optional []todoView // what else can be set up
	Done     []string   // the names of the items that are done
	Backup   *time.Time // as in Health
	Free     string     // how much of the database's disk is free; empty if that is not known
}

type shownFinding struct {
	Finding
	Href string // what the documentation says about it
}

// All is how many items the checklist has, without optional ones that are not done.
func (v *conditionView) All() int { return len(v.Todo) + len(v.Done) }

func healthKeys() (keys []string) {
	for name, place := range FindingPlaces {
		if place != "" {
			keys = append(keys, "system.finding."+name, "system.advice."+name)
		}
	}
	for _, s := range setups {
		keys = append(keys, "system.setup."+s.name)
	}
	return keys
}

// readHealth returns the findings and the checklist. failed are the tenants whose live webhooks do not
// arrive, which is a problem as for agegate doctor.
func (p *Pages) readHealth(r *desk.Request, failed []tenant.Tenant) (*conditionView, error) {
	health, err := p.cfg.Health(r.Ctx())
	if err != nil {
		return nil, err
	}
	if failed != nil {
		health.Findings = append([]Finding{{Name: "webhooks", Problem: true, Tenants: failed}}, health.Findings...)
	}
	setup, err := p.cfg.Insight.Setup(r.Ctx())
	if err != nil {
		return nil, err
	}
	guide := p.cfg.APIURL + "/docs/"
	found := func(name string) bool {
		return slices.ContainsFunc(health.Findings, func(f Finding) bool { return f.Name == name })
	}
	done := map[string]bool{
		"https": p.cfg.HTTPS, "operator_name": !found("operator_name"), "mail": health.Mail && !found("mails"),
		"metrics": health.Metrics, "backup": !found("no_backup"), "second_factor": setup.SecondFactors,
		"tenant": setup.Tenant, "estimate": health.Estimate, "retention": !found("retention"),
	}
	v := &conditionView{Backup: health.Backup}
	if health.Free > 0 {
		v.Free = bytesText(health.Free)
	}
	for _, f := range health.Findings {
		if place := FindingPlaces[f.Name]; place != "" {
			v.Findings = append(v.Findings, shownFinding{f, guide + place})
		}
	}
	for _, s := range setups {
		item := todoView{Name: s.name, Href: cmp.Or(s.page, guide+s.place)}
		switch {
		case done[s.name]:
			v.Done = append(v.Done, s.name)
		case s.optional:
			v.Optional = append(v.Optional, item)
		default:
			v.Todo = append(v.Todo, item)
		}
	}
	return v, nil
}
