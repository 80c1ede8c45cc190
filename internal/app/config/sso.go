package config

import (
	"fmt"
	"net/url"
	"strings"

	"agegate/internal/backoffice/account"

	"github.com/google/uuid"
)

// setSSORoles reads the groups of the instance's provider. Their names may contain commas and equals signs, as in LDAP.
func setSSORoles(c *Config, v string) error {
	c.SSO.Roles = v
	for part := range strings.SplitSeq(v, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		at := max(0, strings.LastIndex(part, "="))
		right := strings.TrimSpace(strings.TrimPrefix(part[at:], "="))
		grant, err := account.Grant{Group: strings.TrimSpace(part[:at])}, error(nil)
		if grant.Operator = right == "operator"; !grant.Operator {
			role, tenant, _ := strings.Cut(right, "@")
			grant.Role = account.Role(role)
			grant.TenantID, err = uuid.Parse(tenant)
		}
		c.SSO.Grants = append(c.SSO.Grants, grant) // also a wrong one, or checkSSO would say that there is none
		if grant.Group == "" || err != nil || !grant.Operator && !grant.Role.May(account.BeMember) {
			return fmt.Errorf("must be groups with what they may do, separated by semicolons: GROUP=operator, or "+
				"GROUP=ROLE@TENANT with owner, developer, support, compliance or viewer and a tenant's ID; entry %d is not",
				len(c.SSO.Grants))
		}
	}
	return nil
}

// checkSSO checks the instance's provider as a whole. Without an issuer there is none.
func (c *Config) checkSSO() []error {
	if c.SSO.Issuer == "" {
		required := c.SSO.Required
		c.SSO = account.Provider{}
		if required {
			return []error{fmt.Errorf("%s must be set where log-in by the provider is required", ssoIssuerName)}
		}
		return nil
	}
	p := c.SSO
	var errs []error
	for _, rule := range []struct {
		name string
		met  bool
		must string
	}{
		{ssoNameName, account.Visible(p.Name, 60), "1 to 60 visible characters"},
		{ssoIssuerName, isIssuer(p.Issuer, Private(p.Issuer) || c.AllowInsecureCallbacks),
			"an https address without a query"},
		{ssoClientIDName, account.Visible(p.ClientID, 200), "1 to 200 visible characters"},
		{ssoClientSecretName, p.Secret != "", "set"},
		{ssoGroupsClaimName, account.Visible(p.GroupsClaim, 200), "the name of a claim"},
		{ssoRolesName, len(p.Grants) > 0, "a group with what it may do"},
	} {
		if !rule.met {
			errs = append(errs, fmt.Errorf("%s must be %s", rule.name, rule.must))
		}
	}
	return errs
}

// isIssuer reports whether an address can be an issuer's. insecure allows http.
func isIssuer(address string, insecure bool) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http" && insecure) && u.Host != "" && u.User == nil &&
		u.RawQuery == "" && u.Fragment == ""
}
