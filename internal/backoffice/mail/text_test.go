package mail_test

import (
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/mail"
)

// TestInvitationTexts: an invitation names each role in both languages, and who runs
// the gateway if that is another than the shop.
func TestInvitationTexts(t *testing.T) {
	for locale, says := range map[string]map[string]string{
		"en": {"": "(role: ", "none": "Shop checks with agegate that its", "Gate": "with agegate, run by Gate, that its"},
		"de": {"": "(Rolle: ", "none": "Mit agegate prüft Shop", "Gate": "Mit agegate, betrieben von Gate, prüft Shop"},
	} {
		for _, role := range account.Roles() {
			m := mail.Message{Kind: mail.Invitation, Tenant: "Shop", By: "Ada", Role: string(role), Locale: locale}
			for operator, want := range map[string]string{"": says["none"], "Shop": says["none"], "Gate": says["Gate"]} {
				body := m.Body(operator)
				if strings.Contains(body, says[""]+")") || strings.Contains(body, ",,") || !strings.Contains(body, want) {
					t.Errorf("%s, %s, operator %q: %s", locale, role, operator, body)
				}
			}
		}
	}
}
