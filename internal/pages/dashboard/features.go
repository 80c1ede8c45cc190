package dashboard

import "agegate/internal/pages/dashboard/desk"

// features lists every file of pages, in alphabetical order.
func (p *Pages) features() []desk.Feature {
	return []desk.Feature{
		p.account(), p.audit(), p.billing(), p.branding(), p.delivery(), p.evidence(), p.factors(), p.home(),
		p.keys(), p.links(), p.login(), p.navigation(), p.operator(), p.operatorFind(), p.operatorTenant(),
		p.operatorUsers(), p.overview(), p.paste(), p.playground(), p.returned(), p.redirectSecret(), p.refusals(),
		p.session(), p.sessions(), p.settings(), p.sso(), p.stepUp(), p.system(), p.team(), p.testClock(), p.urls(),
		p.webhookSecret(), p.webhooks(),
	}
}
