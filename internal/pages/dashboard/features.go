package dashboard

// feature describes the pages in one file.
type feature struct {
	routes  []route
	screens []string // the templates that its handlers render
	forms   []*form
	notices []string // shown after a redirect: the texts notice.<name>
	keys    []string // further texts whose keys are composed at run time
}

// features lists every file of pages, in alphabetical order.
func (p *Pages) features() []feature {
	return []feature{
		p.account(),
		p.audit(),
		p.billing(),
		p.branding(),
		p.cards(),
		p.certify(),
		p.delivery(),
		p.drift(),
		p.evidence(),
		p.factors(),
		p.home(),
		p.keys(),
		p.lab(),
		p.links(),
		p.login(),
		p.operator(),
		p.operatorAudit(),
		p.operatorTenant(),
		p.operatorUsers(),
		p.overview(),
		p.paste(),
		p.playground(),
		p.returned(),
		p.redirectSecret(),
		p.redirectToken(),
		p.refusals(),
		p.scannedCard(),
		p.session(),
		p.sessions(),
		p.settings(),
		p.signOn(),
		p.signature(),
		p.sso(),
		p.stepUp(),
		p.system(),
		p.team(),
		p.testClock(),
		p.urls(),
		p.webhookSecret(),
		p.webhooks(),
	}
}

// composed returns the texts for which templates compose the keys.
func (f feature) composed() []string {
	keys := f.keys
	for _, form := range f.forms {
		keys = append(keys, form.keys()...)
	}
	for _, name := range f.notices {
		keys = append(keys, "notice."+name)
	}
	return keys
}
