package main

import (
	"path/filepath"
	"testing"

	"agegate/internal/lab/demo"
)

// TestDemoTenant keeps the shop's credentials as long as they are valid.
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
