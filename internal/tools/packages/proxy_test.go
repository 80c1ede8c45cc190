package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestProxies: each proxy accepts its example, apart from the certificate.
func TestProxies(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key.pem")
	certificate := filepath.Join(dir, "all.pem")
	output(t, exec.Command("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=age.example.com",
		"-keyout", key, "-out", certificate))
	text, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(certificate, append(chain, text...), 0o600); err != nil {
		t.Fatal(err)
	}
	place := strings.NewReplacer("/etc/ssl/agegate/fullchain.pem", certificate, "/etc/ssl/agegate/privkey.pem", key,
		"/etc/ssl/agegate/all.pem", certificate, "/var/log/nginx", dir)
	for name, check := range map[string][]string{
		"nginx.conf": {"nginx", "-t", "-c"}, "haproxy.cfg": {"haproxy", "-c", "-f"},
		"Caddyfile": {"caddy", "validate", "--adapter", "caddyfile", "--config"},
	} {
		text, err := os.ReadFile("../../../deploy/proxy/" + name)
		if err != nil {
			t.Fatal(err)
		}
		config := place.Replace(string(text))
		if name == "nginx.conf" {
			config = "pid " + dir + "/pid; events {} http {\n" + config + "}\n"
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(check[0], append(check[1:], path)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
