package doctor_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/app/doctor"
	"agegate/internal/check/inference"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/pgtest"
)

const (
	key      = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	otherKey = "BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	canary   = "canary-in-a-path"
)

// examine makes all examinations with the given variables, NAME=VALUE, and
// returns the findings. It checks that no finding contains a secret.
func examine(t *testing.T, settings ...string) []doctor.Finding {
	t.Helper()
	env := map[string]string{"AGEGATE_SECRET_KEY": key, "AGEGATE_ESTIMATOR": "off"}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		env[name] = value
	}
	cfg, err := config.Load(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := credential.NewSealer(cfg.SecretKey, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var found []doctor.Finding
	doctor.Examine(t.Context(), doctor.Options{
		Config: cfg, Sealer: sealer, Now: func() time.Time { return time.Now().UTC() },
		Timeout: time.Minute, Tell: func(f doctor.Finding) { found = append(found, f) }, Progress: func(string) {},
	})
	for _, f := range found {
		if (f.Grade == doctor.OK) != (f.Advice == "") {
			t.Errorf("%+v: advice belongs to what is not well", f)
		}
		if text := fmt.Sprint(f); strings.Contains(text, canary) || strings.Contains(text, env["AGEGATE_SECRET_KEY"]) {
			t.Errorf("%s tells a URL or a key: %s", f.Check, text)
		}
	}
	return found
}

// want fails the test unless there is one finding of the check, with that grade and text.
func want(t *testing.T, found []doctor.Finding, check string, grade doctor.Grade, text string) {
	t.Helper()
	var of []doctor.Finding
	for _, f := range found {
		if f.Check == check || slices.Contains(strings.Split(f.Check, ", "), check) {
			of = append(of, f)
		}
	}
	if len(of) != 1 || of[0].Grade != grade || !strings.Contains(of[0].Found, text) {
		t.Errorf("%s: %+v, want %s: %s\nall findings: %+v", check, of, grade, text, found)
	}
}

// start runs a gateway under the test's key.
func start(t *testing.T, databaseURL string, settings ...string) *gatewaytest.Gateway {
	return gatewaytest.Start(t, databaseURL, append(settings, "AGEGATE_SECRET_KEY="+key)...)
}

// at returns the settings of an installation whose only address is url.
func at(g *gatewaytest.Gateway, url string) []string {
	return []string{"AGEGATE_DATABASE_URL=" + g.DB, "AGEGATE_BASE_URL=" + url}
}

// TestHealthy: on both databases, a healthy gateway has no problem.
func TestHealthy(t *testing.T) {
	for name, db := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return gatewaytest.SQLite(t) },
		"postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			listen := pgtest.FreeAddr(t)
			g := start(t, db(t), "AGEGATE_LISTEN="+listen, "AGEGATE_DASHBOARD_URL=http://"+listen)
			site := newSite(t, authority, time.Hour*24*90)
			g.Shop(t, site+"/"+canary, onlyAt(site))
			found := examine(t, append(at(g, g.URL), "AGEGATE_WEBHOOK_ALLOW_NETS=127.0.0.0/8", "AGEGATE_ESTIMATOR=onnx",
				"AGEGATE_MODELS_DIR=../../../models", "AGEGATE_RETENTION="+map[string]string{"postgres": "90d"}[name])...)
			want(t, found, "AGEGATE_OPERATOR_NAME", doctor.Warning, "do not see who runs")
			want(t, found, "AGEGATE_RETENTION", map[string]doctor.Grade{"sqlite": doctor.Warning, "postgres": doctor.OK}[name],
				map[string]string{
					"sqlite":   "it is not set: finished sessions are kept until somebody deletes them; webhook events go after 30",
					"postgres": "finished sessions are deleted 90d after their creation",
				}[name])
			want(t, found, "licence of the estimate", doctor.Warning, "UTKFace and All-Age-Faces: non-commercial research")
			if text := fmt.Sprint(found); !strings.Contains(text,
				"wallets alone or an estimate of your own: "+g.URL+"/docs/go-live#") {
				t.Errorf("the licence's advice names no way out: %s", text)
			}
			for _, check := range []string{"configuration", "models", "AGEGATE_BASE_URL", "AGEGATE_VERIFY_URL",
				"AGEGATE_DASHBOARD_URL", "database", "schema", "secret key", "callback hosts"} {
				want(t, found, check, doctor.OK, "")
			}
			if name == "postgres" {
				want(t, found, "database's clock", doctor.OK, "differs")
			}
		})
	}
}

// onlyAt gives a tenant callback URLs at one address.
func onlyAt(site string) func(*tenant.Tenant) {
	return func(t *tenant.Tenant) { t.SuccessURL, t.CancelURL = site+"/ok?x="+canary, site+"/back" }
}

// TestGoingBack: the tenants that 0.2.0 would check less strictly are named.
func TestGoingBack(t *testing.T) {
	g := start(t, gatewaytest.SQLite(t))
	const check = "going back to 0.2.0"
	g.Shop(t, "", nil)
	for _, f := range examine(t, at(g, g.URL)...) {
		if f.Check == check {
			t.Errorf("a plain tenant: %+v", f)
		}
	}
	g.Shop(t, "", func(t *tenant.Tenant) { t.Name, t.DocumentCheck, t.DocumentOnly = "Harbour", true, true })
	want(t, examine(t, at(g, g.URL)...), check, doctor.OK, "documents only (1): Harbour (0")
	g.Shop(t, "", func(t *tenant.Tenant) { t.Name, t.Margins = "Corner", []string{"18=9"} })
	seen := fmt.Sprint(examine(t, at(g, g.URL)...))
	if !strings.Contains(seen, "ignore the margins of tenants (1): Corner (0") {
		t.Errorf("margins: %s", seen)
	}
}

// TestDatabase covers the faults of a database.
func TestDatabase(t *testing.T) {
	healthy := start(t, pgtest.URL(t))
	healthy.Shop(t, "", nil)
	file := start(t, gatewaytest.SQLite(t))
	behind, ahead, locked, full := pgtest.URL(t), pgtest.URL(t), pgtest.URL(t), pgtest.URL(t)
	for url, statement := range map[string]string{
		behind: "DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)",
		ahead:  "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)",
		locked: "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_read_only = on'; " +
			"END $$",
		full: "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$; " +
			"CREATE TRIGGER no_room BEFORE INSERT ON replicas EXECUTE FUNCTION no_room()",
	} {
		(&gatewaytest.Gateway{DB: url}).Exec(t, statement)
	}
	missing := filepath.Join(t.TempDir(), "none", "agegate.db")
	for _, tt := range []struct {
		name, url, check string
		grade            doctor.Grade
		text             string
	}{
		{"nothing there", "postgres://u:" + canary + "@127.0.0.1:1/none", "database", doctor.Problem, "unavailable"},
		{"read-only", locked, "database", doctor.Problem, "takes no writes"},
		{"full", full, "database", doctor.Problem, "takes no writes: The disk or the database is full"},
		{"empty", pgtest.EmptyURL(t), "schema", doctor.Warning, "migrations to be applied"},
		{"behind", behind, "schema", doctor.Warning, "migrations to be applied: 1;"},
		{"ahead", ahead, "schema", doctor.Warning,
			"a newer version of agegate has applied migrations that this one does not know: 1"},
		{"no file", "sqlite:" + missing, "database", doctor.Warning, "no SQLite file yet"},
		{"the key", healthy.DB, "secret key", doctor.OK, "opens"},
		{"the key of a file", file.DB, "secret key", doctor.OK, "compared with nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want(t, examine(t, "AGEGATE_DATABASE_URL="+tt.url), tt.check, tt.grade, tt.text)
		})
	}
	if _, err := os.Stat(filepath.Dir(missing)); err == nil {
		t.Error("a missing SQLite file was made")
	}
	found := examine(t, "AGEGATE_DATABASE_URL="+healthy.DB, "AGEGATE_SECRET_KEY="+otherKey)
	want(t, found, "secret key", doctor.Problem, "does not open")
	named := 0
	for _, f := range found {
		if strings.Contains(f.Advice, ".md") {
			t.Errorf("%s: the advice names a file, not an address: %s", f.Check, f.Advice)
		}
		for _, place := range regexp.MustCompile(`(http\S+/docs/\S+)#(\S+)`).FindAllStringSubmatch(f.Advice, -1) {
			named++
			res, err := http.Get(healthy.URL + place[1][strings.Index(place[1], "/docs/"):])
			if err != nil {
				t.Fatal(err)
			}
			guide, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil || !strings.Contains(string(guide), `id="`+place[2]+`"`) {
				t.Errorf("%s: there is no section %q at %s, %v", f.Check, place[2], place[1], err)
			}
		}
	}
	if named == 0 {
		t.Error("a wrong secret key leads to no section of the documentation")
	}
}

// proxy is a reverse proxy in front of a gateway.
func proxy(t *testing.T, g *gatewaytest.Gateway, change func(*http.Request)) string {
	t.Helper()
	upstream, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(upstream)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		change(req)
		forward.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestAddresses covers the faults between browsers and the gateway.
func TestAddresses(t *testing.T) {
	db := pgtest.URL(t)
	g := start(t, db)
	api, pages := start(t, db, "AGEGATE_ROLE=api"), start(t, db, "AGEGATE_ROLE=pages")
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer broken.Close()
	stripping := proxy(t, g, func(req *http.Request) { req.Header.Del("Upgrade"); req.Header.Del("Connection") })
	const base, verify, dashboard = "AGEGATE_BASE_URL", "AGEGATE_VERIFY_URL", "AGEGATE_DASHBOARD_URL"
	for _, tt := range []struct {
		name, variable, value string
		grade                 doctor.Grade
		text                  string
	}{
		{"direct", verify, g.URL, doctor.OK, "WebSockets pass"},
		{"a proxy that passes all", verify, proxy(t, g, func(*http.Request) {}), doctor.OK, "WebSockets pass"},
		{"a proxy that strips Upgrade", verify, stripping, doctor.Problem, "strips"},
		{"the API of that proxy", base, stripping, doctor.OK, "the API answers"},
		{"a proxy without a gateway", verify, broken.URL, doctor.Problem, "answers 502: it does not reach the gateway"},
		{"nobody", verify, gone.URL, doctor.Problem, "takes no connection"},
		{"the API instead of the pages", verify, api.URL, doctor.Problem, "answers a WebSocket with 404"},
		{"the pages of their own", verify, pages.URL, doctor.OK, "WebSockets pass"},
		{"the pages instead of the API", base, pages.URL, doctor.Problem, "answers 404 where the API should be"},
		{"the API of its own", base, api.URL, doctor.OK, "the API answers"},
		// the dashboard is at another address
		{"the dashboard of the API", dashboard, api.URL, doctor.Problem, "answers 302"},
		{"an expired certificate", verify, newSite(t, authority, -time.Hour), doctor.Problem, "has expired"},
		{"an unknown authority", base, newSite(t, stranger, time.Hour*24*90), doctor.Problem, "does not trust"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want(t, examine(t, append(at(g, g.URL), tt.variable+"="+tt.value)...), tt.variable, tt.grade, tt.text)
		})
	}
	// another gateway answers at the address, and none runs on this database
	other := start(t, pgtest.URL(t))
	other.Stop()
	want(t, examine(t, at(other, g.URL)...), "gateway", doctor.Problem, "none runs on this database")
	// one gateway that does not run is one finding
	want(t, examine(t, at(g, gone.URL)...), base+", "+verify+", "+dashboard, doctor.Problem, "takes no connection")
	found := examine(t, append(at(g, "http://nothing.invalid"), "AGEGATE_DASHBOARD=off")...)
	want(t, found, dashboard, doctor.OK, "off")
	for _, grade := range []struct {
		check, text string
		grade       doctor.Grade
	}{{base, "not https: API keys", doctor.Warning}, {verify, "not https: browsers", doctor.Problem}} {
		if !strings.Contains(fmt.Sprint(found), fmt.Sprintf("%s %s it is %s", grade.check, grade.grade, grade.text)) {
			t.Errorf("%+v is not among %v", grade, found)
		}
	}
}

// TestCallbacks covers the faults of merchants' hosts.
func TestCallbacks(t *testing.T) {
	const inside = "https://10.0.0.1:8443"
	good := newSite(t, authority, time.Hour*24*90)
	soon := newSite(t, authority, time.Hour*24*5)
	expired := newSite(t, authority, -time.Hour)
	unknown := newSite(t, stranger, time.Hour*24*90)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	g := start(t, pgtest.URL(t))
	g.Shop(t, "", onlyAt(good))
	alike, of := strings.Replace(gone.URL, "127.0.0.1", "127.0.0.2", 1), map[string]string{}
	for _, webhook := range []string{good, soon, expired, unknown, plain.URL, gone.URL, alike, inside} {
		of[webhook] = g.Shop(t, webhook+"/"+canary, onlyAt(good)).Tenant.ID.String()
	}
	browsers := g.Shop(t, good, onlyAt("https://10.0.0.2:443")).Tenant.ID.String()
	off := g.Shop(t, "https://10.0.0.3", onlyAt(good))
	if err := g.App.Tenants.SetDisabled(t.Context(), audit.System("test"), off.Tenant.ID, true, "test"); err != nil {
		t.Fatal(err)
	}
	found := examine(t, append(at(g, g.URL), "AGEGATE_WEBHOOK_ALLOW_NETS=127.0.0.0/8")...)
	for _, tt := range []struct {
		grade       doctor.Grade
		text        string
		tenant, url string
	}{
		{doctor.Warning, "its certificate ends on ", of[soon], soon},
		{doctor.Warning, "its certificate has expired", of[expired], expired},
		{doctor.Warning, "does not trust", of[unknown], unknown},
		{doctor.Warning, "takes no connection (2)", of[gone.URL], gone.URL},
		{doctor.Warning, "takes no connection (2)", of[alike], alike},
		{doctor.Warning, "not public", of[inside], inside},
		{doctor.Warning, "not public", browsers, "https://10.0.0.2"},
	} {
		line := regexp.MustCompile(regexp.QuoteMeta(tt.text) + ".*Shop \\(" + tt.tenant + ", " +
			regexp.QuoteMeta(strings.Split(tt.url, "//")[1]) + "\\)")
		if !slices.ContainsFunc(found, func(f doctor.Finding) bool {
			return f.Check == "callback hosts" && f.Grade == tt.grade && line.MatchString(f.Found)
		}) {
			t.Errorf("%s: no finding %s %s among %+v", tt.url, tt.grade, line, found)
		}
	}
	if strings.Contains(fmt.Sprint(found), "are well") {
		t.Error("the hosts are called well, beside those that are not")
	}
	if strings.Contains(fmt.Sprint(found), "10.0.0.3") {
		t.Error("the host of a disabled tenant was examined")
	}
	if seen := fmt.Sprint(examine(t, at(g, g.URL)...)); strings.Count(seen, "its address is not public (") != 2 {
		t.Errorf("hosts with the same finding are not one finding: %s", seen)
	}
}

// TestModels covers the faults of the models.
func TestModels(t *testing.T) {
	// without returns a directory with all files but one, which another may replace.
	without := func(name, instead string) string {
		dir := t.TempDir()
		files, err := filepath.Glob("../../../models/*")
		if err != nil || len(files) == 0 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, file := range files {
			path, err := filepath.Abs(file)
			if err == nil && filepath.Base(file) != name {
				err = os.Symlink(path, filepath.Join(dir, filepath.Base(file)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if instead != "" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(instead), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	manifest, err := inference.ReadManifest("../../../models")
	if err != nil {
		t.Fatal(err)
	}
	delete(manifest.Models, inference.Matcher)
	unmatched, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	manifest.Tail.Second = nil
	alone, err := json.Marshal(manifest.Tail)
	if err != nil {
		t.Fatal(err)
	}
	postgres := "AGEGATE_DATABASE_URL=" + pgtest.URL(t)
	for _, tt := range []struct {
		name, dir string
		grade     doctor.Grade
		text      string
		settings  []string
	}{
		{"all", "../../../models", doctor.OK, "all ", nil},
		{"none", t.TempDir(), doctor.Problem, "make models", nil},
		{"a file", "doctor_test.go", doctor.Problem, "set AGEGATE_MODELS_DIR to the directory", nil},
		{"one missing", without("liveness.onnx", ""), doctor.Problem, "liveness.onnx", nil},
		{"one changed", without("liveness.onnx", "x"), doctor.Problem, "SHA-256 differs", nil},
		{"no fine-tuned tail", without("agetail.json", ""), doctor.Warning, "no fine-tuned tail", nil},
		{"a tail alone", without("agetail.json", string(alone)), doctor.Warning, "second age model has no scale", nil},
		{"no matcher", without("manifest.json", string(unmatched)), doctor.Warning, "no face matcher", nil},
		{"no matcher, and no photographs", without("manifest.json", string(unmatched)), doctor.OK, "all ",
			[]string{"AGEGATE_DOCUMENT_WAYS=wallet"}},
		{"a damaged description of the tail", without("agetail.json", "{"), doctor.Problem, "agetail.json", nil},
		{"off", t.TempDir(), doctor.Warning, "the estimator is off", []string{"AGEGATE_ESTIMATOR=off"}},
		{"the API alone", t.TempDir(), doctor.OK, "not needed by the role api", []string{postgres, "AGEGATE_ROLE=api"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := examine(t, append([]string{
				"AGEGATE_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "x.db"), "AGEGATE_ESTIMATOR=onnx",
				"AGEGATE_MODELS_DIR=" + tt.dir,
			}, tt.settings...)...)
			want(t, found, "models", tt.grade, tt.text)
		})
	}
}

// TestDatabaseFile: the advice for a file is about the file.
func TestDatabaseFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no database, but a text that is long enough"), 0o600); err != nil {
		t.Fatal(err)
	}
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(file, "agegate.db"): "not a directory", file: "not a database",
		filepath.Join(closed, "new", "agegate.db"): "none can be made in " + closed,
	} {
		if strings.HasPrefix(path, closed) && os.Getuid() == 0 {
			continue // root may write everywhere
		}
		found := examine(t, "AGEGATE_DATABASE_URL=sqlite:"+path)
		want(t, found, "database", doctor.Problem, text)
		if of := found[len(found)-1]; of.Check != "database" || strings.Contains(of.Advice, "password") {
			t.Errorf("%s: %+v", path, of)
		}
	}
}
