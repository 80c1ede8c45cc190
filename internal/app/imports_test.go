package app

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// rooms lists every room of the tree, from the outside in: a package may import
// its own room and the rooms of later lines, never one of the same or an
// earlier line.
var rooms = [][]string{
	{"tools"}, // run at build time only
	{"proof"}, // shows that the product keeps its word
	{"cmd"},
	{"docs"}, // samples in Go
	{"app"},
	// The merchant's and the shopper's edge.
	{"httpd"},
	{"api", "dashboard", "reference", "shopper"},
	{"contract"},
	{"doctor"},
	{"accuracy", "config", "conformance", "demo", "metrics", "page", "store"},
	{"certify", "document", "insight"},
	// The gateway's rules.
	{"session"},
	{"account", "billing", "tenant", "webhook"},
	{"audit", "brand", "credential"},
	// From the decision on a capture down to the models.
	{"age"},
	{"liveness"},
	{"vision"},
	{"inference"},
	// For everybody.
	{"gather", "junit"},
	{"fault"},
	{"agegate", "gen", "templates"}, // agegate is the root, which embeds openapi.yaml
}

// roomOf returns the room of a package of this module.
func roomOf(pkg string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(pkg, "agegate/"), "internal/")
	room, _, _ := strings.Cut(rest, "/")
	return room
}

func own(pkg string) bool { return pkg == "agegate" || strings.HasPrefix(pkg, "agegate/") }

// forTests reports whether a package exists for tests, as pgtest does.
func forTests(pkg string) bool { return strings.HasSuffix(path.Base(pkg), "test") }

// TestRooms: every package is in a known room, and imports lead inwards only.
// Tests of a product room may use packages for tests and the harness of proof,
// but nothing else of proof or tools.
func TestRooms(t *testing.T) {
	order := map[string]int{}
	for i, line := range rooms {
		for _, room := range line {
			order[room] = i
		}
	}
	const format = `{{.ImportPath}}|{{join .Imports " "}}|{{join .TestImports " "}} {{join .XTestImports " "}}`
	out, err := exec.Command("go", "list", "-f", format, "agegate/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(line, "|")
		pkg, room := fields[0], roomOf(fields[0])
		if _, known := order[room]; !known {
			t.Errorf("%s is in no known room: give %q its place in rooms", pkg, room)
			continue
		}
		found[room] = true
		product := room != "proof" && room != "tools"
		for dep := range strings.FieldsSeq(fields[1]) {
			switch {
			case !own(dep) || roomOf(dep) == room:
			case order[roomOf(dep)] <= order[room]:
				t.Errorf("%s imports %s: a step back", pkg, dep)
			case product && forTests(dep) && !forTests(pkg):
				t.Errorf("%s imports %s, which is for tests", pkg, dep)
			}
		}
		for dep := range strings.FieldsSeq(fields[2]) {
			if r := roomOf(dep); own(dep) && product && (r == "tools" || r == "proof" && dep != "agegate/internal/gatewaytest") {
				t.Errorf("a test of %s imports %s", pkg, dep)
			}
		}
	}
	for _, room := range slices.Concat(rooms...) {
		if !found[room] {
			t.Errorf("there is no room %q", room)
		}
	}
}

// TestForbiddenImports: what a package may not reach, not even through others.
func TestForbiddenImports(t *testing.T) {
	domain := []string{"github.com/labstack/echo/v4", "gorm.io/gorm", "agegate/gen"}
	for pkg, forbidden := range map[string][]string{
		"agegate/internal/rules/fault":      {"agegate/"},
		"agegate/internal/rules/credential": {"agegate/"},
		"agegate/internal/rules/audit":      domain,
		"agegate/internal/rules/brand":      append(domain, "agegate/internal/rules/tenant"),
		"agegate/internal/check/inference":  {"agegate/"},
		"agegate/internal/rules/session":    domain,
		"agegate/internal/rules/tenant":     domain,
		"agegate/internal/rules/billing":    domain,
		"agegate/internal/rules/webhook":    domain,
		"agegate/internal/rules/account":    append(domain, "agegate/internal/rules/tenant"),
		"agegate/internal/rules/insight":    domain,
		"agegate/internal/rules/certify":    domain,
		"agegate/internal/rules/junit":      {"agegate/"},
		"agegate/internal/check/age":        append(domain, "agegate/internal/rules/session"),
		"agegate/internal/store":            {"github.com/labstack/echo/v4", "agegate/gen"},
		"agegate/internal/edge/contract":    {"gorm.io/gorm", "agegate/internal/rules/session", "agegate/internal/rules/tenant", "agegate/gen"},
		"agegate/internal/edge/api":         {"gorm.io/gorm", "agegate/internal/store"},
		"agegate/internal/pages/shopper":    {"gorm.io/gorm", "agegate/internal/store", "agegate/gen"},
		"agegate/internal/pages/dashboard":  {"gorm.io/gorm", "agegate/internal/store", "agegate/gen"},
		"agegate/internal/pages/page":       {"gorm.io/gorm", "agegate/internal/", "agegate/gen"},
		"agegate/internal/lab/conformance":  {"github.com/labstack/echo/v4", "gorm.io/gorm", "agegate/internal/", "agegate/gen"},
		"agegate/internal/lab/demo":         {"gorm.io/gorm", "agegate/internal/"},
		"agegate/gen":                       {"agegate/internal/"},
		"agegate/gen/client":                {"agegate/internal/", "github.com/labstack/echo/v4"},

		"agegate/internal/check/document/mrz":     {"agegate/"},
		"agegate/internal/check/document/capture": append(domain, "agegate/internal/rules/session", "agegate/internal/check/age"),
		"agegate/internal/check/document":         domain,
		"agegate/internal/check/document/wallet":  append(domain, "agegate/"),
	} {
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", pkg, err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			for _, f := range forbidden {
				if pkg == "agegate/internal/lab/conformance" && dep == "agegate/internal/rules/junit" {
					continue // a format of reports, which the gateway has no part in
				}
				if dep != pkg && (dep == f || strings.HasSuffix(f, "/") && strings.HasPrefix(dep, f)) {
					t.Errorf("%s reaches %s", pkg, dep)
				}
			}
		}
	}
}
