package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/demo"
)

func TestDemoRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		args  []string
		want  string
	}{
		{"damaged key", map[string]string{"secret.key": "canary"}, nil, "secret.key is damaged; restore it, or remove the directory"},
		{"key gone", map[string]string{"agegate.db": ""}, nil, "has a database but not its secret.key"},
		{"shop address", nil, []string{"--shop-listen", "9001"}, "--shop-listen must be host:port"},
	} {
		c, dir := &console{t, nil}, t.TempDir()
		for name, content := range tt.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := c.try(append([]string{"demo", "--data", dir}, tt.args...)...)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestDemoTenant keeps the shop's credentials for as long as they are of use.
func TestDemoTenant(t *testing.T) {
	file := filepath.Join(t.TempDir(), "demo-shop.json")
	credentials := func(c *console, shopURL string) demo.Credentials {
		t.Helper()
		var got demo.Credentials
		program := &cli{env: func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }}
		err := program.withOperator(t.Context(), func(op operator) (err error) {
			got, err = demoTenant(t.Context(), op.tenants, file, shopURL)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one, other := newConsole(t), newConsole(t)
	one.env["AGEGATE_ALLOW_INSECURE_CALLBACKS"], other.env["AGEGATE_ALLOW_INSECURE_CALLBACKS"] = "true", "true"
	first := credentials(one, "http://localhost:8081")
	if again := credentials(one, "http://localhost:8081"); again != first {
		t.Error("a second start made another tenant")
	}
	moved := credentials(one, "http://localhost:9081")
	if moved == first {
		t.Error("the shop moved and kept its old URLs")
	}
	if fresh := credentials(other, "http://localhost:9081"); fresh == moved {
		t.Error("credentials of another database were used")
	}
}
