package tenant

import (
	"reflect"
	"strconv"
	"strings"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/brand"
)

// Settings are the settings that Update can change.
type Settings struct {
	Tenant Tenant
	Brand  brand.Brand
}

// setting describes a setting of a tenant: its name in the audit log and in
// Check's errors, and where its value is in a Tenant and in Changes.
type setting struct {
	name  string
	same  func(a, b Tenant) bool
	shown func(Tenant) string         // the value as the audit log shows it
	apply func(to *Tenant, c Changes) // copies the value in c, if it has one
	take  func(to *Changes, t Tenant) // copies the value in t
}

// settings lists all settings except the brand, in the order of the audit log.
var settings = []setting{
	of("name", plain, func(t *Tenant) *string { return &t.Name }, func(c *Changes) **string { return &c.Name }),
	of("success_url", HostPort, func(t *Tenant) *string { return &t.SuccessURL },
		func(c *Changes) **string { return &c.SuccessURL }),
	of("cancel_url", HostPort, func(t *Tenant) *string { return &t.CancelURL },
		func(c *Changes) **string { return &c.CancelURL }),
	of("webhook_url", HostPort, func(t *Tenant) *string { return &t.WebhookURL },
		func(c *Changes) **string { return &c.WebhookURL }),
	of("document_check", strconv.FormatBool, func(t *Tenant) *bool { return &t.DocumentCheck },
		func(c *Changes) **bool { return &c.DocumentCheck }),
	of("document_only", strconv.FormatBool, func(t *Tenant) *bool { return &t.DocumentOnly },
		func(c *Changes) **bool { return &c.DocumentOnly }),
	of("document_ways", words, func(t *Tenant) *[]string { return &t.DocumentWays },
		func(c *Changes) **[]string { return &c.DocumentWays }),
	of("wallet_pid", strconv.FormatBool, func(t *Tenant) *bool { return &t.WalletPID },
		func(c *Changes) **bool { return &c.WalletPID }),
	of("margins", words, func(t *Tenant) *[]string { return &t.Margins },
		func(c *Changes) **[]string { return &c.Margins }),
	of("age_visibility", strconv.FormatBool, func(t *Tenant) *bool { return &t.AgeVisibility },
		func(c *Changes) **bool { return &c.AgeVisibility }),
	limit("free_checks", DefaultLimit, func(t *Tenant) **int64 { return &t.FreeChecks },
		func(c *Changes) **int64 { return &c.FreeChecks }),
	limit("test_cap", DefaultLimit, func(t *Tenant) **int64 { return &t.TestCap },
		func(c *Changes) **int64 { return &c.TestCap }),
	of("privacy_url", HostPort, func(t *Tenant) *string { return &t.Links.PrivacyURL },
		func(c *Changes) **string { return &c.PrivacyURL }),
	of("help_url", HostPort, func(t *Tenant) *string { return &t.Links.HelpURL },
		func(c *Changes) **string { return &c.HelpURL }),
	of("terms_url", HostPort, func(t *Tenant) *string { return &t.Links.TermsURL },
		func(c *Changes) **string { return &c.TermsURL }),
	of("review_url", HostPort, func(t *Tenant) *string { return &t.Links.ReviewURL },
		func(c *Changes) **string { return &c.ReviewURL }),
	of("languages", words, func(t *Tenant) *[]string { return &t.Languages },
		func(c *Changes) **[]string { return &c.Languages }),
	limit("alert_below", NoAlert, func(t *Tenant) **int64 { return &t.AlertBelow },
		func(c *Changes) **int64 { return &c.AlertBelow }),
}

// of describes a setting whose field in Changes is a pointer to the type of its field in Tenant.
func of[T any](name string, show func(T) string, in func(*Tenant) *T, change func(*Changes) **T) setting {
	return setting{
		name:  name,
		same:  func(a, b Tenant) bool { return reflect.DeepEqual(*in(&a), *in(&b)) },
		shown: func(t Tenant) string { return show(*in(&t)) },
		apply: func(to *Tenant, c Changes) {
			if value := *change(&c); value != nil {
				*in(to) = *value
			}
		},
		take: func(to *Changes, t Tenant) { *change(to) = in(&t) },
	}
}

// limit describes a number that may be missing in a Tenant; none is the value in Changes that removes it.
func limit(name string, none int64, in func(*Tenant) **int64, change func(*Changes) **int64) setting {
	return setting{
		name:  name,
		same:  func(a, b Tenant) bool { return reflect.DeepEqual(*in(&a), *in(&b)) },
		shown: func(t Tenant) string { return units(*in(&t)) },
		apply: func(to *Tenant, c Changes) {
			switch value := *change(&c); {
			case value == nil:
			case *value == none:
				*in(to) = nil
			default:
				*in(to) = value
			}
		},
		take: func(to *Changes, t Tenant) { *change(to) = *in(&t) },
	}
}

func plain(text string) string { return text }

func words(list []string) string { return strings.Join(list, " ") }

// Apply returns the tenant with the changes, except those of the brand.
func (c Changes) Apply(t Tenant) Tenant {
	for _, s := range settings {
		s.apply(&t, c)
	}
	if c.Margin != nil {
		t.Margins = c.Margin.in(t.Margins)
	}
	return t
}

// all returns changes that set every setting to the tenant's value.
func (t Tenant) all() (c Changes) {
	for _, s := range settings {
		s.take(&c, t)
	}
	return c
}

// ChangesTo returns the settings that differ in next, for the audit log.
func (s Settings) ChangesTo(next Settings) []audit.Change {
	var changes []audit.Change
	add := func(name string, same bool, before, after string) {
		if !same {
			changes = append(changes, audit.Change{Setting: name, Old: before, New: after})
		}
	}
	for _, one := range settings {
		add(one.name, one.same(s.Tenant, next.Tenant), one.shown(s.Tenant), one.shown(next.Tenant))
	}
	a, b := s.Brand, next.Brand
	add("brand_name", a.Name == b.Name, a.Name, b.Name)
	add("brand_colour", a.Colour == b.Colour, string(a.Colour), string(b.Colour))
	add("brand_logo", a.LogoHash == b.LogoHash, a.LogoHash, b.LogoHash)
	return changes
}

// units returns a number of units, or an empty text for nil.
func units(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
