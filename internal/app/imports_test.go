package app

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// room is a folder in internal, or a part of the tree outside it, with its packages. The packages in a line may import
// those in later lines only. At most that many lines of Go in a room may be part of the program agegate, tests left
// out: an operator runs all of them. 0 is no budget.
type room struct {
	name     string
	lines    int
	packages [][]string
}

// house lists the rooms from the outside in. A package may import from its own
// room, in the order of its lines, and from later rooms.
var house = []room{
	// 60 of pages, 40 of store, 35 of rules and 11 of backoffice show operators what operators did on all
	// tenants, whom users work for and whose webhooks fail, make a second operator and take credit back.
	// 120 of cmd, 50 of store and 60 of rules archive the old months of the ledger, for operators whose
	// disk it fills. 10 of rules wait, as store and four other rooms did with lines of their own.
	// 4 of cmd tell the change of a URL's path from none.
	// 5 of cmd print the version by --version too, and give doctor's advice once.
	// 16 of store, 3 of app and 6 of pages ask the database whether an operator can log in, keep SQLite's words in
	// the store, and load a zone once for a page.
	// 4 of app tell that the key was compared with nothing, or is another than the running gateway's; 47 of pages let
	// people change their own name, tell a cut link, name the setting that another changed and an endpoint that
	// retries. 29 of cmd invite a tenant's owner and say what to do about a damaged database.
	// 1 of cmd prints the sample shop's test secrets, with which a developer's own shop verifies.
	// 11 of cmd and 7 of app refuse a command on a database that does not exist.
	// 10 of backoffice and 1 of app name the operator and the role in an invitation, 3 of rules and 1 of pages say which
	// scheme an address may have: lines of cmd's, whose flags of the brand are read as all others are.
	// 8 of edge and 26 of pages tell a full disk once a minute, show operators whose estimate decides and the room left,
	// and let them choose no limit without a magic number: lines of comments that were wrapped early.
	// 8 of cmd name the subcommand that was mistyped.
	// 3 of rules, one of them cmd's, tell who deletes a session how long its webhook is tried, and what ends it.
	{"cmd", 4128, nil},
	{"docs", 0, nil}, // samples in Go
	// 30 of store's name why a database cannot be copied.
	// 115 of app's check OpenTelemetry's variables, database URLs and service links; 90 tell
	// researchers where to report a flaw; 40 name what 0.2.0 would treat more loosely; 82 name
	// the tenants whose live checks nobody can pass, to operators and to the tenants; 24 of app and
	// 6 of backoffice name to operators the tenants that have no checks left, and why webhooks fail.
	// 41 of app, 17 of rules, 8 of backoffice, 3 of cmd and 1 of edge keep operators from a change of the
	// secret key that a running gateway cannot follow, and name one that cannot; 29 of app name the
	// tenants of hosts that fail, once for each finding; 13 of pages say the same state of a tenant in
	// its list and on its page, and give the ledger's file its notes.
	// 8 of app, 8 of edge and 9 of pages show the operator's imprint and the days of retention, and send a shopper who
	// came to the first page back to the shop.
	// 3 of app, 3 of edge and 37 of store tell load balancers, operators and the log of a full database, and keep
	// the mark of a backup from a copy.
	// 11 of app say that another gateway answers than the one of the database; 1 what to do about another's key.
	// 1 of app, 9 of rules and 6 of store warn operators of a webhook URL that deliveries do not reach, and read the
	// notes and acts that a page shows and no others.
	// 26 of app and 13 of backoffice tell operators that all of them are disabled, of a damaged database and of settings
	// that are looser than the documentation says, and name the variable that was begun.
	{"app", 4624, [][]string{{"app"}, {"doctor"}, {"config", "metrics"}}},
	// 35 of edge show a reader of the documentation four ways in.
	// 13 of edge serve the guide for support in German, between its neighbours, and let the search find its titles.
	// 6 of edge, taken from pages, tell the causes of one type of rejected request apart.
	{"edge", 3548, [][]string{{"httpd"}, {"api", "reference"}, {"contract"}}},
	// 30 of pages' spare a door's visitor the same question twice; 30 name all faults of a form at once.
	// 60 open the section of the settings that was saved, and keep a chosen logo where another field is wrong;
	// 11 hand the words that found nothing to the documentation.
	// 44 of pages, 17 of backoffice, 33 of rules and 6 of store tell support that a shop was not told,
	// what a browser says of its camera, and why the last document was refused.
	// 4 of pages close up Japanese and Chinese sentences and 4 say that nothing was sent again;
	// 1 of backoffice's says what to do where an operator exists.
	// 70 of pages give operators of several shops a file of each tenant's months, for invoices; 18 find the
	// tenant of a session; 4 copy recovery codes; 7 of rules, 3 of store and 3 of cmd say why an endpoint fails.
	// 3 of pages offer the ways of the document check in the operator's order.
	// 15 of pages help a shopper whose camera gave no picture with the camera, not with the light.
	// 17 of pages say in a reply what the hosted page says of an attempt, and end a sentence once.
	// 4 of pages and 5 of rules tell a shopper that an attempt was left, or that the network blocks the check.
	// 21 of pages read the members of all listed tenants at once, and no older notes than a page shows;
	// 9 of backoffice name a camera's trouble for support and for the shopper.
	// 103 of pages tell checks of one order apart, find orders as others spell them, begin no check that nobody can
	// pass, and say when held data goes. 6 of pages and 2 of rules find an order by an Idempotency-Key that is a UUID,
	// under a parameter in a merchant's language, or in a whole address. 7 of pages and 3 of rules say that
	// an address of webhooks is a former one, and sort the audit log's actions by their words.
	// 5 of pages name the key by which a program acts.
	// 33 of rules, 26 of check and 9 of backoffice, taken from pages, tell support and shoppers of documents that proved
	// nothing without being refused, and of a second browser.
	// 20 of pages, taken from edge, rules, store, check and backoffice, find the guide for support in the dashboard.
	// 15 of pages, taken from backoffice, write replies to shoppers in paragraphs, the cause first.
	// 10 of pages show what waits for a document and edit typed URLs. 19 of pages say in replies until when a check is
	// open, and who may go on after a document of somebody too young.
	// 30 of pages find it by every sentence of the shopper's page, in each of its languages; 1 by any words of a mail.
	// 31 of pages, taken from check, learn from mails which section of the guide answers another one, and keep what was
	// found for who comes back.
	// 6 of pages and 1 of backoffice, taken from rules and store, let operators invite another, and show them what a
	// tenant's owner has set. 3 of pages show a mail's session and what support's guide says of the mail.
	// 20 of pages and 1 of rules, taken from comments of backoffice that were wrapped early, let operators revoke links to
	// accounts, and refuse what is known to be refused before they ask. 4 of pages and cmd, 1 of app and 10 of rules warn
	// of a webhook URL whose host does not exist. 21 of pages, taken from comments of rules that were wrapped early, show
	// the audit log of the last days alone.
	// 37 of pages, taken from comments of check that were wrapped early, give support the reply of a mail's own session.
	// 1 of app refuses operators a second first owner before they ask.
	// 13 of pages, taken from comments of backoffice and app that were wrapped early, tell operators where they land
	// that System has something to look at, and tell tenants of one name apart in the list of users.
	// 59 of pages, taken from what was used once in check, store, rules and edge, show of the guide what a mail asks
	// for: its row, its language, and the guide's reply where a session's is none.
	{"pages", 15904, [][]string{{"dashboard", "shopper"}, {"page"}}},
	// 1 of store and 2 of backoffice tell operators and teams what open sessions reserve of the credit.
	// 22 of store keep a mail from going out after its link ended, and name those that wait. 35 of rules tell names,
	// connections and certificates apart for doctor, lists and mails; 20 of app tell of waiting mails and a full disk.
	// 2 of store and 1 of rules, taken from pages, find a tenant by a part of its ID and tell of namesakes.
	{"store", 6041, nil},
	// 6 of lab say that the sample shop knows test mode only.
	{"lab", 306, [][]string{
		{"accuracy", "certify", "conformance", "demo"}, {"measured", "testkey"}, {"curve", "picture", "suite", "verify"},
	}},
	// 22 of rules keep why the last document was refused. 4 of rules and 1 of backoffice say how
	// fields are stored, in place of 230 lines of store. 1 of backoffice tells support of a document that is
	// asked for, not of the light, after a camera without a face.
	{"backoffice", 8692, [][]string{{"evidence"}, {"insight"}, {"account"}, {"certificate", "mail"}}},
	{"check", 15035, [][]string{{"document"}, {"age"}, {"liveness", "photographic"}, {"vision"}, {"inference"}}},
	// 1 of rules tells who deletes a tenant until when its sessions are open: a line of app; 3 until when its webhooks
	// are tried.
	{"rules", 8639, [][]string{
		{"session"}, {"billing", "tenant", "webhook"}, {"audit", "brand", "credential"},
		{"gather", "turn"}, {"routine", "trail"}, {"checkouttest", "fault", "strictjson"},
	}},
	{"agegate", 0, nil}, {"gen", 0, nil}, {"templates", 0, nil}, // agegate is the root, which embeds openapi.yaml
}

// gatewaytest runs whole gateways for tests, so it stands outside the rooms.
const gatewaytest = "agegate/internal/gatewaytest"

// place returns where a package of this module is in house: the index of its room, the index of its line in the room,
// and its name there. Rooms without lines have one line with index 0.
func place(pkg string) (in, line int, name string) {
	rest := strings.TrimPrefix(strings.TrimPrefix(pkg, "agegate/"), "internal/")
	first, below, _ := strings.Cut(rest, "/")
	in = slices.IndexFunc(house, func(r room) bool { return r.name == first })
	if in < 0 || house[in].packages == nil {
		return in, 0, first
	}
	name, _, _ = strings.Cut(below, "/")
	if name == "" {
		name = first // the room's own package
	}
	return in, slices.IndexFunc(house[in].packages, func(line []string) bool { return slices.Contains(line, name) }),
		first + "/" + name
}

func own(pkg string) bool { return pkg == "agegate" || strings.HasPrefix(pkg, "agegate/") }

// forTests reports whether a package exists for tests, as pgtest does.
func forTests(pkg string) bool { return strings.HasSuffix(path.Base(pkg), "test") }

// TestRooms: every package is in a known room, and imports lead only inwards.
// Tests of a product package may use packages for tests.
func TestRooms(t *testing.T) {
	const format = `{{.ImportPath}}|{{join .Imports " "}}`
	out, err := exec.Command("go", "list", "-f", format, "agegate/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		pkg, imports, _ := strings.Cut(line, "|")
		if pkg == gatewaytest {
			continue
		}
		in, at, name := place(pkg)
		if in < 0 || at < 0 {
			t.Errorf("%s is in no known room: give it its place in house", pkg)
			continue
		}
		found[name] = true
		for dep := range strings.FieldsSeq(imports) {
			if own(dep) {
				stepsInwards(t, pkg, dep)
			}
		}
	}
	lines := weight(t)
	for _, r := range house {
		if have := lines[r.name]; r.lines > 0 && have > r.lines {
			t.Errorf("agegate is built from %d lines of %s; its budget is %d", have, r.name, r.lines)
		}
		if r.packages == nil && !found[r.name] {
			t.Errorf("there is no room %q", r.name)
		}
		for _, name := range slices.Concat(r.packages...) {
			if !found[r.name+"/"+name] {
				t.Errorf("there is no package %q in room %q", name, r.name)
			}
		}
	}
}

// weight counts, for each room, the lines of Go that the program agegate is built from.
func weight(t *testing.T) map[string]int {
	t.Helper()
	const format = `{{range .GoFiles}}{{$.ImportPath}} {{$.Dir}}/{{.}}{{"\n"}}{{end}}`
	out, err := exec.Command("go", "list", "-deps", "-f", format, "agegate/cmd/agegate").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	lines := map[string]int{}
	for line := range strings.Lines(string(out)) {
		pkg, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !own(pkg) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		in, _, _ := place(pkg)
		lines[house[in].name] += bytes.Count(text, []byte("\n"))
	}
	return lines
}

// stepsInwards reports an import that leads outwards, or from the product to a package that exists for tests.
func stepsInwards(t *testing.T, pkg, dep string) {
	t.Helper()
	in, line, name := place(pkg)
	depIn, depLine, depName := place(dep)
	switch {
	case dep == gatewaytest || forTests(dep) && !forTests(pkg):
		t.Errorf("%s imports %s, which is for tests", pkg, dep)
	case name == depName:
	case depIn < in || depIn == in && depLine <= line:
		t.Errorf("%s imports %s: a step back", pkg, dep)
	}
}

// TestForbiddenImports: packages that a package must not import, even indirectly.
func TestForbiddenImports(t *testing.T) {
	except := map[string][]string{
		// outcomes and reports, which the gateway has no part in
		"agegate/internal/lab/conformance": {"agegate/internal/lab/suite"},
		// which public keys are used, how JSON is read, and what a birth date is
		"agegate/internal/check/document/wallet": {"agegate/internal/rules/credential", "agegate/internal/rules/strictjson",
			"agegate/internal/check/document/date"},
		"agegate/internal/check/document/mrz": {"agegate/internal/check/document/date"},
		// how drawn codes take turns
		"agegate/internal/pages/page": {"agegate/internal/rules/turn", "agegate/internal/rules/fault"},
	}
	domain := []string{"github.com/labstack/echo/v4", "gorm.io/gorm", "agegate/gen"}
	for pkg, forbidden := range map[string][]string{
		"rules/fault":            {"agegate/"},
		"rules/credential":       {"agegate/"},
		"rules/strictjson":       {"agegate/"},
		"rules/audit":            domain,
		"rules/brand":            append(domain, "agegate/internal/rules/tenant"),
		"rules/session":          domain,
		"rules/tenant":           domain,
		"rules/billing":          domain,
		"rules/webhook":          domain,
		"backoffice/account":     append(domain, "agegate/internal/rules/tenant"),
		"backoffice/evidence":    domain,
		"backoffice/certificate": domain,
		"backoffice/insight":     domain,
		"check/inference":        {"agegate/"},
		"check/age":              append(domain, "agegate/internal/rules/session"),
		"store":                  {"github.com/labstack/echo/v4", "agegate/gen"},
		"edge/contract": {"gorm.io/gorm", "agegate/internal/rules/session", "agegate/internal/rules/tenant",
			"agegate/gen"},
		"edge/api":        {"gorm.io/gorm", "agegate/internal/store"},
		"pages/shopper":   {"gorm.io/gorm", "agegate/internal/store", "agegate/gen"},
		"pages/dashboard": {"gorm.io/gorm", "agegate/internal/store", "agegate/gen"},
		"pages/dashboard/desk": {"gorm.io/gorm", "agegate/internal/store", "agegate/gen",
			"agegate/internal/pages/dashboard"},
		"pages/page":             {"gorm.io/gorm", "agegate/internal/", "agegate/gen"},
		"lab/conformance":        {"github.com/labstack/echo/v4", "gorm.io/gorm", "agegate/internal/", "agegate/gen"},
		"lab/certify":            domain,
		"lab/suite":              {"agegate/"},
		"lab/demo":               {"gorm.io/gorm", "agegate/internal/"},
		"../gen":                 {"agegate/internal/"},
		"../gen/client":          {"agegate/internal/", "github.com/labstack/echo/v4"},
		"check/document":         domain,
		"check/document/date":    {"agegate/"},
		"check/document/mrz":     {"agegate/"},
		"check/document/capture": append(domain, "agegate/internal/rules/session", "agegate/internal/check/age"),
		"check/document/wallet":  append(domain, "agegate/"),
	} {
		pkg = path.Join("agegate/internal", pkg)
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", pkg, err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			for _, f := range forbidden {
				if slices.Contains(except[pkg], dep) {
					continue
				}
				if dep != pkg && (dep == f || strings.HasSuffix(f, "/") && strings.HasPrefix(dep, f)) {
					t.Errorf("%s reaches %s", pkg, dep)
				}
			}
		}
	}
}

// TestDevelopersProgram: agegate-dev is pure Go on every system, and has neither models nor a database.
func TestDevelopersProgram(t *testing.T) {
	forbidden := []string{"agegate/internal/store", "agegate/internal/check/", "agegate/internal/app", "gorm.io/",
		"github.com/yalue/onnxruntime_go", "modernc.org/", "C"}
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "agegate/cmd/agegate-dev")
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOOS="+system)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", system, err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			for _, f := range forbidden {
				if dep == f || dep != "C" && f != "C" && strings.HasPrefix(dep, f) {
					t.Errorf("on %s it reaches %s", system, dep)
				}
			}
		}
	}
}
