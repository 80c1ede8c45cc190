package config

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestSSO(t *testing.T) {
	const shop = "0192f0c1-2345-7abc-8def-0123456789ab"
	good := map[string]string{
		ssoIssuerName: "https://login.example.com/realms/staff", ssoClientIDName: "gate", ssoClientSecretName: "canary",
		ssoRolesName: "ops=operator",
	}
	for _, tt := range []struct {
		name, value string
		grants      int // 0: refused, and the error names the variable
	}{
		{ssoNameName, "Example ID", 1},
		{ssoNameName, "line\nbreak", 0},
		{ssoIssuerName, "http://login.example.com", 0},
		{ssoIssuerName, "http://localhost:5556/dex", 1},
		{ssoIssuerName, "https://login.example.com/?tenant=1", 0},
		{ssoIssuerName, "https://u:p@login.example.com/", 0},
		{ssoClientIDName, "", 0},
		{ssoClientSecretName, "", 0},
		{ssoRolesName, "", 0},
		{ssoRolesName, "ops", 0},
		{ssoRolesName, "=operator", 0},
		{ssoRolesName, "ops=owner", 0},
		{ssoRolesName, "ops=boss@" + shop, 0},
		{ssoRolesName, "ops=owner@shop", 0},
		{ssoRolesName, "ops=operator@" + shop, 0},
		{ssoRolesName, "ops=operator;cn=a,ou=b=owner@" + shop + "; canary=boss", 0},
		{ssoRolesName, "cn=a,ou=b = owner@" + shop + "; ops=operator;", 2},
	} {
		env := maps.Clone(good)
		env[tt.name] = tt.value
		c, err := Load(lookup(env))
		if refused := err != nil && strings.Contains(err.Error(), tt.name+" must"); refused != (tt.grants == 0) ||
			len(c.SSO.Grants) != tt.grants {
			t.Errorf("%s=%s: %+v, %v", tt.name, tt.value, c.SSO.Grants, err)
		}
		if entry := strings.Count(tt.value, ";") + 1; err != nil && tt.name == ssoRolesName && tt.value != "" &&
			(!strings.HasSuffix(err.Error(), fmt.Sprintf("; entry %d is not", entry)) ||
				strings.Count(err.Error(), ssoRolesName) != 1) {
			t.Errorf("%s: the entry is not named in one line: %v", tt.value, err)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("the error has the secret: %v", err)
		}
	}
	if _, err := Load(lookup(map[string]string{"AGEGATE_OIDC_REQUIRED": "true"})); err == nil {
		t.Error("a provider is required that nobody has named")
	}
	one, _ := Load(lookup(good))
	good[ssoClientSecretName] = "another"
	if other, err := Load(lookup(good)); err != nil || one.Fingerprint != other.Fingerprint {
		t.Error("the secret is part of the fingerprint")
	}
}

// The variables of TLS are checked together.
func TestTLS(t *testing.T) {
	const base = "https://Age.example.com"
	for _, tt := range []struct {
		env     string // NAME=VALUE, separated by spaces
		listen  string
		hosts   string
		problem string
	}{
		{"", ":8080", "age.example.com", ""},
		{"AGEGATE_TLS=acme", ":443", "age.example.com", ""},
		{"AGEGATE_TLS=acme AGEGATE_LISTEN=:8443", ":8443", "age.example.com", ""},
		{"AGEGATE_TLS=acme AGEGATE_VERIFY_URL=https://check.example.com", ":443", "age.example.com check.example.com", ""},
		{"AGEGATE_TLS=acme AGEGATE_VERIFY_URL=https://age.example.com:8443", ":443", "age.example.com", ""},
		{"AGEGATE_TLS=acme AGEGATE_DASHBOARD_URL=http://localhost:8081", ":443", "age.example.com", ""},
		{"AGEGATE_TLS=acme AGEGATE_DASHBOARD=off AGEGATE_DASHBOARD_URL=https://staff.example.com", ":443", "age.example.com",
			""},
		{"AGEGATE_TLS_CERT=a AGEGATE_TLS_KEY=b AGEGATE_BASE_URL=https://10.0.0.1", ":443", "10.0.0.1", ""},
		{"AGEGATE_TLS=on", "", "", "AGEGATE_TLS must be acme"},
		{"AGEGATE_TLS_CERT=a", "", "", "AGEGATE_TLS_CERT and AGEGATE_TLS_KEY must be set together"},
		{"AGEGATE_TLS_KEY=a", "", "", "AGEGATE_TLS_CERT and AGEGATE_TLS_KEY must be set together"},
		{"AGEGATE_TLS=acme AGEGATE_TLS_CERT=a AGEGATE_TLS_KEY=b", "", "", "AGEGATE_TLS must not be set"},
		{"AGEGATE_TLS=acme AGEGATE_BASE_URL=http://age.example.com", "", "", "AGEGATE_BASE_URL must be an https address"},
		{"AGEGATE_TLS=acme AGEGATE_BASE_URL=https://10.0.0.1", "", "", "AGEGATE_TLS needs public addresses with names"},
		{"AGEGATE_TLS=acme AGEGATE_VERIFY_URL=https://localhost", "", "", "AGEGATE_TLS needs public addresses with names"},
		{"AGEGATE_ACME_DIRECTORY=http://ca.example", "", "", "AGEGATE_ACME_DIRECTORY must be the https address"},
		{"AGEGATE_ACME_EMAIL=Ops<ops@example.com>", "", "", "AGEGATE_ACME_EMAIL must be an e-mail address"},
	} {
		env := map[string]string{baseURLName: base}
		for part := range strings.FieldsSeq(tt.env) {
			name, value, _ := strings.Cut(part, "=")
			env[name] = value
		}
		c, err := Load(lookup(env))
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s: %v", tt.env, err)
			}
			continue
		}
		if hosts := strings.Join(c.Hosts(), " "); err != nil || c.Listen != tt.listen || hosts != tt.hosts {
			t.Errorf("%s: %s, %s, %v", tt.env, c.Listen, hosts, err)
		}
	}
}

// Separate roles need PostgreSQL, and have the same fingerprint of shared settings.
