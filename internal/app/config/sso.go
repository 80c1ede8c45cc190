package config

import (
	"errors"
	"fmt"
	"strings"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

var errSSORoles = errors.New("must be groups with what they may do, separated by semicolons: GROUP=operator, or " +
	"GROUP=ROLE@TENANT with " +
	"owner, developer, support, compliance or viewer and a tenant's ID")

// setSSORoles reads the groups of the instance's provider. Their names may contain
// commas and equals signs, as in LDAP.
func setSSORoles(c *Config, v string) error {
	for part := range strings.SplitSeq(v, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		at := strings.LastIndex(part, "=")
		if at < 0 {
			return errSSORoles
		}
		grant := account.Grant{Group: strings.TrimSpace(part[:at])}
		right := strings.TrimSpace(part[at+1:])
		role, tenant, _ := strings.Cut(right, "@")
		if grant.Operator = right == "operator"; !grant.Operator {
			id, err := uuid.Parse(tenant)
			if grant.Role, grant.TenantID = account.Role(role), id; err != nil || !grant.Role.May(account.BeMember) {
				return errSSORoles
			}
		}
		if grant.Group == "" {
			return errSSORoles
		}
		c.SSO.Grants = append(c.SSO.Grants, grant)
	}
	return nil
}

// checkSSO checks the instance's provider as a whole. Without an issuer there is
// none.
func (c *Config) checkSSO() []error {
	if c.SSO.Issuer == "" {
		required := c.SSO.Required
		c.SSO = account.Provider{}
		if required {
			return []error{fmt.Errorf("%s must be set where log-in by the provider is required", ssoIssuerName)}
		}
		return nil
	}
	broken, ok := errors.AsType[*fault.Error](account.CheckProvider(c.SSO, Private(c.SSO.Issuer) ||
		c.AllowInsecureCallbacks))
	if !ok {
		return nil
	}
	names := map[string]string{
		"name": ssoNameName, "issuer": ssoIssuerName, "client_id": ssoClientIDName, "secret": ssoClientSecretName,
		"groups_claim": ssoGroupsClaimName, "groups": ssoRolesName,
	}
	var errs []error
	for _, field := range broken.Fields {
		errs = append(errs, fmt.Errorf("%s %w", names[field.Field], field.Err))
	}
	return errs
}
