package app

import (
	"os/exec"
	"strings"
	"testing"
)

// TestImportsRunOneWay keeps the rooms apart: what a package may not reach,
// not even through others.
func TestImportsRunOneWay(t *testing.T) {
	outside := []string{"github.com/labstack/echo/v4", "gorm.io/gorm", "agegate/gen", "agegate/internal/store", "agegate/internal/httpd", "agegate/internal/web", "agegate/internal/api"}
	for pkg, forbidden := range map[string][]string{
		"agegate/internal/fault":      {"agegate/"},
		"agegate/internal/credential": {"agegate/"},
		"agegate/internal/session":    outside,
		"agegate/internal/tenant":     outside,
		"agegate/internal/billing":    outside,
		"agegate/internal/webhook":    outside,
		"agegate/internal/age":        append(outside, "agegate/internal/session"),
		"agegate/internal/store":      {"github.com/labstack/echo/v4", "agegate/gen", "agegate/internal/httpd", "agegate/internal/web", "agegate/internal/api"},
		"agegate/internal/contract":   {"gorm.io/gorm", "agegate/internal/session", "agegate/internal/tenant", "agegate/gen"},
		"agegate/internal/api":        {"gorm.io/gorm", "agegate/internal/store", "agegate/internal/web"},
		"agegate/internal/web":        {"gorm.io/gorm", "agegate/internal/store", "agegate/internal/api", "agegate/gen"},
		"agegate/internal/demo":       {"gorm.io/gorm", "agegate/internal/"},
		"agegate/gen":                 {"agegate/internal/"},
		"agegate/gen/client":          {"agegate/internal/", "github.com/labstack/echo/v4"},
	} {
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", pkg, err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			for _, f := range forbidden {
				if dep != pkg && (dep == f || strings.HasSuffix(f, "/") && strings.HasPrefix(dep, f)) {
					t.Errorf("%s reaches %s", pkg, dep)
				}
			}
		}
	}
}
