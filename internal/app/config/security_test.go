package config

import (
	"strings"
	"testing"
)

// TestSecurityContact: the contact is an address that RFC 9116 allows, and has its day.
func TestSecurityContact(t *testing.T) {
	const day = "2027-06-30"
	for _, tt := range []struct{ contact, until, wrong string }{
		{"", "", ""},
		{"mailto:security@shop.example", day, ""},
		{"https://shop.example/security", day, ""},
		{"https://shop.example/security", "", "must be set together"},
		{"", day, "must be set together"},
		{"https://shop.example/security", "30.06.2027", "AGEGATE_SECURITY_CONTACT_UNTIL must be a day"},
		{"http://canary.example/security", day, "AGEGATE_SECURITY_CONTACT must be an https address"},
		{"https:", day, "must be an https address"},
		{"https://canary@shop.example", day, "must be an https address"},
		{"canary@shop.example", day, "must be an https address"},
		{"mailto:canary", day, "needs an e-mail address"},
		{"mailto:a@shop.example?cc=canary", day, "must be an https address"},
		{"https://shop.example/\nExpires: canary", day, "must be an https address"},
	} {
		c, err := Load(lookup(map[string]string{securityContactName: tt.contact, securityUntilName: tt.until}))
		if (err == nil) != (tt.wrong == "") {
			t.Errorf("%q until %q: %v", tt.contact, tt.until, err)
			continue
		}
		if err != nil {
			if !strings.Contains(err.Error(), tt.wrong) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%q until %q: %v", tt.contact, tt.until, err)
			}
			continue
		}
		want := "Contact: " + tt.contact + "\nExpires: 2027-06-30T23:59:59Z\n" +
			"Canonical: https://age.example/.well-known/security.txt\n"
		if got := c.Security.Text("https://age.example"); tt.contact != "" && got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
