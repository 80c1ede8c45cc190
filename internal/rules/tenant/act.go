package tenant

import (
	"net"
	"strconv"
	"strings"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/brand"

	"github.com/google/uuid"
)

// act returns an entry for the tenant's own audit log.
func (s *Service) act(actor audit.Actor, action audit.Action, tenantID uuid.UUID, params map[string]string) audit.Act {
	return audit.Act{
		Scope: audit.OfTenant(tenantID), At: s.now(), Actor: actor, Action: action, Target: tenantID.String(),
		Detail: audit.Detail{Params: params},
	}
}

// inMode returns the parameters of an act on one mode.
func inMode(livemode bool) map[string]string {
	return map[string]string{"mode": audit.Mode(livemode)}
}

// Settings are the settings that Update can change.
type Settings struct {
	Tenant Tenant
	Brand  brand.Brand
}

// ChangesTo returns the settings that differ in next, for the audit log.
func (s Settings) ChangesTo(next Settings) []audit.Change {
	var changes []audit.Change
	add := func(setting string, differ bool, before, after string) {
		if differ {
			changes = append(changes, audit.Change{Setting: setting, Old: before, New: after})
		}
	}
	plain := func(setting, before, after string) { add(setting, before != after, before, after) }
	address := func(setting, before, after string) {
		add(setting, before != after, hostOf(before), hostOf(after))
	}
	flag := func(setting string, before, after bool) {
		plain(setting, strconv.FormatBool(before), strconv.FormatBool(after))
	}
	a, b := s.Tenant, next.Tenant
	plain("name", a.Name, b.Name)
	address("success_url", a.SuccessURL, b.SuccessURL)
	address("cancel_url", a.CancelURL, b.CancelURL)
	address("webhook_url", a.WebhookURL, b.WebhookURL)
	flag("document_check", a.DocumentCheck, b.DocumentCheck)
	plain("document_ways", strings.Join(a.DocumentWays, " "), strings.Join(b.DocumentWays, " "))
	flag("age_visibility", a.AgeVisibility, b.AgeVisibility)
	plain("free_checks", units(a.FreeChecks), units(b.FreeChecks))
	plain("test_cap", units(a.TestCap), units(b.TestCap))
	address("privacy_url", a.Links.PrivacyURL, b.Links.PrivacyURL)
	address("help_url", a.Links.HelpURL, b.Links.HelpURL)
	address("terms_url", a.Links.TermsURL, b.Links.TermsURL)
	address("review_url", a.Links.ReviewURL, b.Links.ReviewURL)
	plain("languages", strings.Join(a.Languages, " "), strings.Join(b.Languages, " "))
	plain("alert_below", units(a.AlertBelow), units(b.AlertBelow))
	plain("brand_name", s.Brand.Name, next.Brand.Name)
	plain("brand_colour", string(s.Brand.Colour), string(next.Brand.Colour))
	plain("brand_logo", s.Brand.LogoHash, next.Brand.LogoHash)
	return changes
}

// hostOf returns the host and port of an address. Its path and query may hold a
// secret of the merchant.
func hostOf(raw string) string {
	e, err := CallbackRule{AllowInsecure: true}.Parse(raw)
	if err != nil {
		return "" // no address
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// units returns a number of units, or an empty text for nil.
func units(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
