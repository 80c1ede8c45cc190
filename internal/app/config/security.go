package config

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"time"
)

const (
	securityContactName = "AGEGATE_SECURITY_CONTACT"
	securityUntilName   = "AGEGATE_SECURITY_CONTACT_UNTIL"
)

// SecurityContact is where vulnerabilities of this installation are reported, for /.well-known/security.txt (RFC 9116).
type SecurityContact struct {
	URI   string    // mailto: or https:; empty: no file is served
	Until time.Time // the end of the day until which URI is looked after
}

// Text returns the file for the given public addresses of the gateway.
func (s SecurityContact) Text(origins ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Contact: %s\nExpires: %s\n", s.URI, s.Until.Format(time.RFC3339))
	for _, origin := range origins {
		fmt.Fprintf(&text, "Canonical: %s/.well-known/security.txt\n", origin)
	}
	return text.String()
}

func setSecurityContact(c *Config, v string) error {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "https" && u.Scheme != "mailto" || u.Scheme == "https" && u.Hostname() == "" ||
		u.User != nil || u.Scheme == "mailto" && u.RawQuery != "" {
		return errors.New("must be an https address, or mailto: and an e-mail address")
	}
	if a, err := mail.ParseAddress(u.Opaque); u.Scheme == "mailto" && (err != nil || a.Address != u.Opaque) {
		return errors.New("needs an e-mail address behind mailto: in its value")
	}
	c.Security.URI = u.String()
	return nil
}

func setSecurityUntil(c *Config, v string) error {
	day, err := time.Parse(time.DateOnly, v)
	if err != nil {
		return errors.New("must be a day such as 2027-06-30")
	}
	c.Security.Until = day.Add(24*time.Hour - time.Second)
	return nil
}

// checkSecurity checks that the contact and its day are set together.
func (c *Config) checkSecurity() []error {
	if (c.Security.URI == "") == c.Security.Until.IsZero() {
		return nil
	}
	return []error{fmt.Errorf("%s and %s must be set together: security.txt says until when its contact is good",
		securityContactName, securityUntilName)}
}
