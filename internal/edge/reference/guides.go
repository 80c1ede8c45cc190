package reference

import (
	"path"
	"slices"
	"strings"
)

// guide is a page made of a document.
type guide struct{ name, file, summary string }

// changelog is the guide that the search leaves out.
const changelog = "changelog"

// errorGuide is the guide whose sections are named as errors are.
const errorGuide = "errors"

// groups are the guides in the order of the navigation: from the first session to a
// gateway that others depend on. The reference is the second page of the first group.
var groups = []struct {
	title  string
	guides []guide
}{
	{"Build", []guide{
		{"integrate", "docs/guides/integrate.md", "Create a session, send the shopper to it, confirm the pass."},
		{"clients", "docs/guides/clients.md", "For Go, TypeScript, Python and PHP."},
		{"frameworks", "docs/guides/frameworks.md", "Whole shops in FastAPI, Django, Express, Next.js and Hono."},
		{"verify-token", "docs/guides/verify-token.md", "Know the pass as soon as the shopper is back."},
		{"verify-webhook", "docs/guides/verify-webhook.md", "Know the result even if the browser was closed."},
		{"door", "docs/guides/door.md", "A program beside a wiki, a forum or any other site."},
		{"wordpress", "docs/guides/wordpress.md", "A plug-in for sites and shops, whole or in part."},
		{errorGuide, "docs/guides/errors.md", "What each error means, and what to do about it."},
	}},
	{"Test", []guide{
		{"test-outcomes", "docs/guides/test-outcomes.md", "Every result without a camera, by a test key."},
		{"localhost", "docs/guides/localhost.md", "Webhooks on your own machine."},
		{"certify", "docs/certify.md", "Attack your own shop with forged results."},
		{"staging", "docs/guides/staging.md", "One tenant for each environment."},
	}},
	{"Go live", []guide{
		{"go-live", "docs/guides/go-live.md", "The checklist, what a check costs, and changes of keys."},
		{"laws", "docs/guides/laws.md", "Where an estimate counts, where only a document does, and where neither."},
		{"expect", "docs/expect.md", "How many adults pass, how many minors, and how long a check takes."},
		{"document", "docs/document.md", "The way for those whom the camera refuses, or who prefer it."},
	}},
	{"For support and data protection", []guide{
		{"support", "docs/guides/support.md", "Refused wrongly, no camera, an order that stays open."},
		{"privacy", "docs/guides/privacy.md", "What is processed and stored, and what to tell shoppers."},
		{"evidence", "docs/evidence.md", "Files for regulators and auditors."},
	}},
	{"Operate", []guide{
		{"operations", "docs/operations.md", "Install, configure, back up and watch a gateway of your own."},
		{"one-shop", "docs/operations/one-shop.md", "From a bare Debian to live checks, command by command."},
		{"compose", "docs/operations/compose.md", "From a server with Docker to live checks, command by command."},
		{"install", "docs/operations/install.md", "A Debian package, an image, Compose or Kubernetes."},
		{"configure", "docs/operations/configure.md", "Every variable, and how the gateway ends."},
		{"certificates", "docs/operations/certificates.md", "Behind a proxy, or with certificates that the gateway orders."},
		{"tenants", "docs/operations/tenants.md", "Tenants: create, brand, limit, top up, invoice, disable and delete one."},
		{"staff", "docs/operations/staff.md", "The first account, roles, the audit log, and single sign-on."},
		{"issuers", "docs/operations/issuers.md", "Whose documents count, published lists, and what wallets ask of you."},
		{"back-up", "docs/operations/back-up.md", "The database and the secret key, and how to restore or replace them."},
		{"upgrade", "docs/operations/upgrade.md", "To a new version, and back."},
		{"grow", "docs/operations/grow.md", "More replicas, a pooler, and from SQLite to PostgreSQL."},
		{"stored", "docs/operations/stored.md", "For a privacy notice."},
		{"watch", "docs/operations/watch.md", "Metrics, logs, traces and uptime."},
		{"trouble", "docs/operations/trouble.md", "What agegate doctor and each alert say, and what to do."},
		{"compatibility", "docs/compatibility.md", "What stays the same, and what may change."},
		{changelog, "CHANGELOG.md", "What each release changed."},
	}},
}

// doors are the first pages for each kind of reader. The navigation has all pages.
var doors = []struct{ title, lead, pages string }{
	{"For a shop", "Check ages on a site that you have, without writing a program.",
		"wordpress door laws expect go-live"},
	{"For a developer", "Build the check into a shop of your own.",
		"integrate reference verify-webhook test-outcomes go-live"},
	{"For an operator", "Run a gateway of your own.", "one-shop compose configure tenants back-up upgrade trouble"},
	{"For support and data protection", "Answer shoppers, and those who ask what is stored.",
		"support document privacy evidence"},
}

// translations are guides in other languages, which the guides in English link. A name ends with the language.
var translations = []guide{{"support.de", "docs/guides/support.de.md", "Support, in German."}}

// guides are the pages other than the reference, in the order of the navigation, which has no translations.
var guides = func() (all []guide) {
	for _, g := range groups {
		all = append(all, g.guides...)
	}
	return append(all, translations...)
}()

// group is a part of the navigation, or a door.
type group struct {
	Title, Lead string
	Links       []link
}

// doorsOf returns the doors with the links of the navigation.
func doorsOf(nav []group) (all []group) {
	links := map[string]link{}
	for _, g := range nav {
		for _, l := range g.Links {
			links[path.Base(l.URL)] = l
		}
	}
	for _, d := range doors {
		made := group{Title: d.title, Lead: d.lead}
		for name := range strings.FieldsSeq(d.pages) {
			made.Links = append(made.Links, links[name])
		}
		all = append(all, made)
	}
	return all
}

// navigation returns the groups with the titles of the pages, of which the first is
// the reference and the others are guides in their order.
func navigation(views []*view) (nav []group) {
	rest := views[1:]
	for _, g := range groups {
		made := group{Title: g.title}
		for i, guide := range g.guides {
			made.Links = append(made.Links, link{Title: rest[i].Title, URL: rest[i].Path, Summary: guide.summary})
		}
		rest = rest[len(g.guides):]
		nav = append(nav, made)
	}
	reference := link{Title: views[0].Title, URL: views[0].Path, Summary: "Every operation, in five languages."}
	nav[0].Links = slices.Insert(nav[0].Links, 1, reference)
	return nav
}
