package config

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/tenant"
)

const goodKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

func lookup(env map[string]string) Lookup {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func TestDefaults(t *testing.T) {
	defer func(n int) { cores = n }(cores)
	cores = 3 // as in a container that is given three
	c, err := Load(lookup(map[string]string{SecretKeyName: goodKey}), SecretKeyName)
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{
		"role":        c.Role == RoleAll && c.ServesAPI() && c.ServesPages(),
		"listen":      c.Listen == ":8080",
		"database":    c.DatabaseURL == "sqlite:./data/agegate.db",
		"base URL":    c.BaseURL == "http://localhost:8080",
		"verify URL":  c.VerifyURL == c.BaseURL,
		"key":         len(c.SecretKey) == 32 && c.SecretKey[31] == 31,
		"session TTL": c.SessionTTL == 30*time.Minute,
		"test cap":    c.TestDailyCap == 200,
		"free checks": c.FreeChecksPerMonth == 500,
		"margin":      c.Margin == tenant.MarginRule{Usual: 7, Least: 7},
		"token TTL":   c.RedirectTokenTTL == 10*time.Minute,
		"live retries": slices.Equal(c.WebhookRetryLive, []time.Duration{
			5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
			10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
		}),
		"test retries": slices.Equal(c.WebhookRetryTest,
			[]time.Duration{5 * time.Second, 30 * time.Second, 5 * time.Minute}),
		"no allow nets": c.WebhookAllowNets == nil,
		"secure":        !c.AllowInsecureCallbacks,
		"estimator":     c.Estimator == EstimatorONNX,
		"no metrics":    c.MetricsListen == "",
		"no lame duck":  c.LameDuck == 0,         // a SQLite file has one server
		"workers":       c.InferenceWorkers == 3, // not the machine's number of cores
		"passwords":     c.PasswordMemory == 0,   // hashed as package account recommends
	} {
		if !ok {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestEveryVariableRefusesNonsense(t *testing.T) {
	const nonsense = "no-sense-at-all"
	env := map[string]string{}
	var free []string // variables that take any text
	for _, v := range Variables {
		env[v.Name] = nonsense
		if slices.Contains([]string{"AGEGATE_MODELS_DIR", "AGEGATE_OPERATOR_NAME", ssoClientIDName, ssoClientSecretName,
			ssoNameName, ssoGroupsClaimName, tlsCertName, tlsKeyName}, v.Name) {
			free = append(free, v.Name)
		}
	}
	_, err := Load(lookup(env))
	if err == nil {
		t.Fatal("accepted")
	}
	if strings.Contains(err.Error(), nonsense) {
		t.Errorf("the error repeats a value: %v", err)
	}
	for _, v := range Variables {
		if strings.Contains(err.Error(), v.Name+" must be") == slices.Contains(free, v.Name) {
			t.Errorf("%s is not named, or wrongly, in: %v", v.Name, err)
		}
	}
}

// TestValuesAreTrimmed: white space and invisible characters around any value do not
// count, and a value of them alone is refused.
func TestValuesAreTrimmed(t *testing.T) {
	for _, v := range Variables {
		plain := map[string]string{SecretKeyName: goodKey}
		if v.Name != SecretKeyName && v.Default != "" {
			plain[v.Name] = v.Default
		}
		for _, space := range []string{"\n", " \r\n", "\t", "\u00a0", "\ufeff", "\u200b"} {
			around, alone := maps.Clone(plain), maps.Clone(plain)
			if value, ok := plain[v.Name]; ok {
				around[v.Name] = space + value + space
			}
			alone[v.Name] = space
			want, err := Load(lookup(plain))
			got, failed := Load(lookup(around))
			if err != nil || failed != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s with %q: %v, %v", v.Name, space, err, failed)
			}
			if _, err := Load(lookup(alone)); err == nil || !strings.Contains(err.Error(), v.Name+" must not be white space") {
				t.Errorf("%s of %q alone: %v", v.Name, space, err)
			}
		}
	}
	if c, err := Load(lookup(map[string]string{DatabaseURLName: "sqlite:/d/g.db\n"})); c.DatabaseURL != "sqlite:/d/g.db" {
		t.Errorf("the database is %q, %v", c.DatabaseURL, err)
	}
}

// TestDatabaseParameters: those of other programs are refused by name, without the URL.
func TestDatabaseParameters(t *testing.T) {
	for query, want := range map[string]string{
		"pgbouncer=true": "parameter pgbouncer", "schema=public": "use search_path", "keepalives=1": "parameter keepalives",
		"gssencmode=disable": "parameter gssencmode", "pool_max_conns=5": "parameter pool_max_conns",
		"sslmode=verify-full&search_path=x&application_name=y": "",
	} {
		for _, name := range []string{DatabaseURLName, MigrationURLName} {
			env := map[string]string{DatabaseURLName: "postgres://u@h/d", name: "postgres://canary@h/d?" + query}
			_, err := Load(lookup(env))
			if (err != nil) != (want != "") || err != nil && (!strings.Contains(err.Error(), name+" has the") ||
				!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary")) {
				t.Errorf("%s?%s: %v", name, query, err)
			}
		}
	}
	for name, value := range map[string]string{
		DatabaseURLName: "sqlite:/d/g\n.db", MigrationURLName: "postgres://h/d\nx",
	} {
		env := map[string]string{DatabaseURLName: "postgres://u@h/d", name: value}
		if _, err := Load(lookup(env)); err == nil || !strings.Contains(err.Error(), name+" must not contain a line break") {
			t.Errorf("a line break in %s: %v", name, err)
		}
	}
}

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		ok          bool
	}{
		{"AGEGATE_AGE_MARGIN", "0", true},
		{"AGEGATE_AGE_MARGIN", "7.5", true},
		{"AGEGATE_AGE_MARGIN", "-0.1", false},
		{"AGEGATE_AGE_MARGIN", "NaN", false},
		{"AGEGATE_FREE_CHECKS_PER_MONTH", "-1", true},
		{"AGEGATE_FREE_CHECKS_PER_MONTH", "-2", false},
		{"AGEGATE_TEST_DAILY_CAP", "1e3", false},
		{"AGEGATE_SESSION_TTL", "0s", false},
		{"AGEGATE_SESSION_TTL", "90s", true},
		{"AGEGATE_RETENTION", "90d", true},
		{"AGEGATE_RETENTION", "", true},
		{"AGEGATE_RETENTION", "0d", false},
		{"AGEGATE_RETENTION", "90", false},
		{"AGEGATE_RETENTION", "-1d", false},
		{"AGEGATE_RETENTION", "3651d", false},
		{"AGEGATE_WEBHOOK_RETRY_TEST", "1s,2m, 3h", true},
		{"AGEGATE_WEBHOOK_RETRY_TEST", "1s,,2s", false},
		{"AGEGATE_WEBHOOK_ALLOW_NETS", "127.0.0.0/8,::1/128", true},
		{"AGEGATE_WEBHOOK_ALLOW_NETS", "127.0.0.1", false},
		{"AGEGATE_NAT64_PREFIXES", "2001:db8:64::/96, 2001:db8::/32", true},
		{"AGEGATE_NAT64_PREFIXES", "2001:db8::/33", false},
		{"AGEGATE_NAT64_PREFIXES", "192.0.2.0/32", false},
		{"AGEGATE_DATABASE_URL", "postgres://u:p@h/d", true},
		{"AGEGATE_DATABASE_URL", "postgres://u:p%2F@h1:1,h2/d?sslrootcert=/x@y", true},
		{"AGEGATE_DATABASE_URL", "postgres://u:12/34@h/d", false}, // a password that was not encoded
		{"AGEGATE_DATABASE_URL", "postgres://u:12?34@h/d", false},
		{"AGEGATE_DATABASE_URL", "postgres://u:12#34@h/d", false},
		{"AGEGATE_DATABASE_URL", "mysql://h/d", false},
		{"AGEGATE_DATABASE_URL", "sqlite:", false},
		{MigrationURLName, "sqlite:x.db", false},
		{MigrationURLName, "postgres://db/agegate", false}, // the database is a SQLite file
		{"AGEGATE_BASE_URL", "https://age.example.com/", true},
		{"AGEGATE_BASE_URL", "https://age.example.com/x", false},
		{"AGEGATE_BASE_URL", "age.example.com", false},
		{"AGEGATE_DASHBOARD_URL", "https://age.example.com/", true},
		{"AGEGATE_DASHBOARD_URL", "http://localhost:8080", true},
		{"AGEGATE_DASHBOARD_URL", "http://127.0.0.1:8080", true},
		{"AGEGATE_DASHBOARD_URL", "http://age.example.com", false},
		{"AGEGATE_DASHBOARD_URL", "http://localhost.example", false},
		{"AGEGATE_DASHBOARD_LISTEN", "127.0.0.1:8081", true},
		{"AGEGATE_DASHBOARD_LISTEN", "8081", false},
		{"AGEGATE_DASHBOARD", "off", true},
		{"AGEGATE_DASHBOARD", "no", false},
		{"AGEGATE_TRUSTED_PROXIES", "10.0.0.4/32, fd00::/64", true},
		{"AGEGATE_TRUSTED_PROXIES", "10.0.0.4", false},
		{"AGEGATE_TRUSTED_PROXIES", "0.0.0.0/0", false},
		{"AGEGATE_TRUSTED_PROXIES", "10.0.0.4/32,::/0", false},
		{"AGEGATE_LISTEN", "127.0.0.1:80", true},
		{"AGEGATE_LISTEN", "8080", false},
		{"AGEGATE_ESTIMATOR", "off", true},
		{"AGEGATE_LOG_LEVEL", "DEBUG", true},
		{"AGEGATE_OPERATOR_NAME", "Age Checks & Söhne", true},
		{"AGEGATE_OPERATOR_NAME", " ", false},
		{"AGEGATE_OPERATOR_NAME", "X\u202eY", false},
		{"AGEGATE_OPERATOR_NAME", strings.Repeat("ö", 100), true},
		{"AGEGATE_OPERATOR_NAME", strings.Repeat("ö", 101), false},
		{"AGEGATE_PRIVACY_URL", "https://age.example.com/privacy?v=1#top", true},
		{"AGEGATE_PRIVACY_URL", "https://u:p@age.example.com/", false},
		{"AGEGATE_HELP_URL", "http://localhost/help", false},
		{"AGEGATE_TERMS_URL", "javascript:alert(1)", false},
		{SecretKeyName, goodKey[:20], false},
	} {
		c, err := Load(lookup(map[string]string{tt.name: tt.value}))
		if (err == nil) != tt.ok {
			t.Errorf("%s=%s: %v", tt.name, tt.value, err)
		}
		if c.PasswordMemory != 0 {
			t.Errorf("%s makes passwords cheaper to guess", tt.name)
		}
	}
}

// The variables of single sign-on are checked together.
func TestRole(t *testing.T) {
	all, err := Load(lookup(map[string]string{DatabaseURLName: "postgres://db/agegate"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		role, database string
		api, pages     bool
		problem        string
	}{
		{"all", "sqlite:x.db", true, true, ""},
		{"all", "postgres://db/agegate", true, true, ""},
		{"api", "postgres://db/agegate", true, false, ""},
		{"pages", "postgresql://db/agegate", false, true, ""},
		{"api", "sqlite:x.db", false, false, "AGEGATE_ROLE must be all where AGEGATE_DATABASE_URL is a SQLite file"},
		{"pages", "", false, false, "AGEGATE_ROLE must be all where AGEGATE_DATABASE_URL is a SQLite file"},
		{"API", "postgres://db/agegate", false, false, "AGEGATE_ROLE must be api, pages or all"},
		{"worker", "sqlite:x.db", false, false, "AGEGATE_ROLE must be api, pages or all"},
	} {
		c, err := Load(lookup(map[string]string{"AGEGATE_ROLE": tt.role, DatabaseURLName: tt.database}))
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) || strings.Count(err.Error(), "AGEGATE_ROLE") != 1 {
				t.Errorf("%+v: %v", tt, err)
			}
			continue
		}
		if err != nil || c.ServesAPI() != tt.api || c.ServesPages() != tt.pages {
			t.Errorf("%+v: %+v, %v", tt, c, err)
		}
		if strings.HasPrefix(tt.database, "postgres") && c.Fingerprint != all.Fingerprint {
			t.Errorf("%s: the role is part of the fingerprint", tt.role)
		}
	}
}

// Links may use http only if callback URLs may, and only on this machine.
func TestLinksWithInsecureCallbacks(t *testing.T) {
	for link, ok := range map[string]bool{
		"http://localhost:8081/privacy": true, "http://127.0.0.1/": true, "http://[::1]:80/": true,
		"http://age.example.com/": false, "http://localhost.example/": false, "https://age.example.com/": true,
	} {
		for _, name := range []string{privacyURLName, imprintURLName} {
			_, err := Load(lookup(map[string]string{name: link, "AGEGATE_ALLOW_INSECURE_CALLBACKS": "true"}))
			if (err == nil) != ok || err != nil &&
				(!strings.Contains(err.Error(), name) || strings.Contains(err.Error(), link)) {
				t.Errorf("%s: %s: %v", name, link, err)
			}
		}
	}
}

// The dashboard's address defaults to the base URL, which may be http.
func TestCheckDashboard(t *testing.T) {
	for _, tt := range []struct {
		base, dashboard, on string
		ok                  bool
	}{
		{"https://age.example.com", "", "", true}, {"http://age.example.com", "", "", false},
		{"http://age.example.com", "", "off", true}, {"http://age.example.com", "https://age.example.com", "on", true},
		{"", "", "", true},
	} {
		c, err := Load(lookup(map[string]string{"AGEGATE_BASE_URL": tt.base, dashboardURLName: tt.dashboard,
			"AGEGATE_DASHBOARD": tt.on}))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.CheckDashboard(); (err == nil) != tt.ok || err != nil &&
			!strings.Contains(err.Error(), dashboardURLName) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// The dashboard's address defaults to that of its own listener.
func TestDashboardListen(t *testing.T) {
	for _, tt := range []struct{ listen, dashboard, want string }{
		{"", "", "https://age.example.com"},
		{":8081", "", "http://localhost:8081"},
		{"127.0.0.1:8081", "", "http://127.0.0.1:8081"},
		{":8081", "https://staff.example.com", "https://staff.example.com"},
	} {
		c, err := Load(lookup(map[string]string{
			"AGEGATE_BASE_URL": "https://age.example.com", "AGEGATE_DASHBOARD_LISTEN": tt.listen, dashboardURLName: tt.dashboard,
		}))
		if err != nil || c.DashboardURL != tt.want {
			t.Errorf("%+v: %s, %v", tt, c.DashboardURL, err)
		}
	}
}

func TestRequiredVariable(t *testing.T) {
	_, err := Load(lookup(nil), SecretKeyName)
	if err == nil || !strings.Contains(err.Error(), SecretKeyName+" must be set") {
		t.Errorf("got %v", err)
	}
}

func TestOperationsNamesEveryVariable(t *testing.T) {
	table, err := os.ReadFile("../../../docs/operations/configure.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Variables {
		row := "| `" + v.Name + "` | "
		if v.Default != "" && v.Name != "AGEGATE_INFERENCE_WORKERS" {
			row += "`" + v.Default + "` |"
		}
		if !strings.Contains(string(table), row) {
			t.Errorf("docs/operations/configure.md has no row %s", row)
		}
	}
}

func TestHasPassword(t *testing.T) {
	for url, want := range map[string]bool{
		"sqlite:./data/user:pass@x.db":                    false,
		"postgres://agegate@db/agegate":                   false,
		"postgres://agegate:@db/agegate":                  false,
		"postgres:///agegate?host=/run/postgresql":        false,
		"postgres://db/agegate?passfile=/etc/pgpass":      false,
		"postgres://agegate:hunter2@db/agegate":           true,
		"postgresql://agegate:hunter2@db1,db2:5433/x":     true,
		"postgres://db/agegate?user=u&password=hunter2":   true,
		"postgres://db/agegate?%70assword=hunter2":        true,
		"postgres://db/agegate?sslpassword=hunter2":       true,
		"postgres://agegate:hun%ter2@db/agegate":          true, // cannot be read
		"postgres://agegate:hun#ter2@db/agegate":          true,
		"postgres://agegate:12/34@db/agegate":             true,
		"postgres://agegate:12#34@db/agegate":             true,
		"postgres://agegate:12?34@db/agegate":             true,
		"postgres://agegate:hunter2@[::1]:5432/agegate?x": true,
	} {
		if got := HasPassword(url); got != want {
			t.Errorf("HasPassword(%q) = %t", url, got)
		}
	}
}

// TestFingerprint: the fingerprint changes with what all processes must share, and with nothing else.
func TestFingerprint(t *testing.T) {
	of := func(env map[string]string) string {
		t.Helper()
		c, err := Load(lookup(env))
		if err != nil {
			t.Fatal(err)
		}
		return c.Fingerprint
	}
	const database = "postgres://gate@db.example.com/gate"
	same := of(map[string]string{DatabaseURLName: database})
	for setting, shared := range map[string]bool{
		"AGEGATE_DRAIN=30s": true, "AGEGATE_AGE_MARGIN=8": true, "AGEGATE_BASE_URL=https://age.example.com": true,
		"AGEGATE_TLS=": false, "AGEGATE_LAME_DUCK=30s": false, "AGEGATE_ROLE=api": false, "AGEGATE_LISTEN=:1": false,
		"AGEGATE_INFERENCE_WORKERS=3": false, "AGEGATE_LOG_LEVEL=debug": false, "AGEGATE_DRAIN=20s": false,
		"AGEGATE_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=": false,
		"AGEGATE_DATABASE_URL=" + database + "2":                          false,
	} {
		name, value, _ := strings.Cut(setting, "=")
		if got := of(map[string]string{DatabaseURLName: database, name: value}); (got != same) != shared {
			t.Errorf("%s: %s and %s", setting, same, got)
		}
	}
}
