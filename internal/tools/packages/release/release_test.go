package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tried runs a command and returns what it says.
func tried(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sealed returns a sealed directory and a file with its allowed signer.
func sealed(t *testing.T) (dir, signers string) {
	t.Helper()
	keys, dir := t.TempDir(), t.TempDir()
	key := filepath.Join(keys, "key")
	tried(t, keys, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	public, err := os.ReadFile(key + ".pub")
	must(t, err)
	signers = filepath.Join(keys, "signers")
	must(t, os.WriteFile(signers, append([]byte("maintainer@agegate.example "), public...), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "tools"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "agegate.deb"), []byte("a package"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "tools", "agegate-dev"), []byte("a program"), 0o600))
	must(t, run([]string{"seal", "-version", "v1.2.3", "-revision", strings.Repeat("a", 40), "-key", key, dir}))
	return dir, signers
}

// TestOneNumber: the clients and their READMEs say the same number.
func TestOneNumber(t *testing.T) {
	const root = "../../../.."
	text, err := os.ReadFile(filepath.Join(root, "sdk/typescript/package.json"))
	must(t, err)
	var manifest struct{ Version string }
	must(t, json.Unmarshal(text, &manifest))
	must(t, checkNumbers(root, manifest.Version))
}

// TestSeal: what was sealed verifies, also by the programs that every system has, and
// sealing it again gives the same statement.
func TestSeal(t *testing.T) {
	dir, signers := sealed(t)
	must(t, run([]string{"verify", "-signers", signers, "-signer", "maintainer@agegate.example", dir}))
	if out := tried(t, dir, "sha256sum", "--check", "--strict", Sums); strings.Count(out, ": OK\n") != 3 {
		t.Errorf("checksums: %s", out)
	}
	text, err := os.ReadFile(filepath.Join(dir, Provenance))
	must(t, err)
	var s struct {
		Predicate struct {
			BuildDefinition struct{ ExternalParameters, ResolvedDependencies any }
		}
	}
	must(t, json.Unmarshal(text, &s))
	d, err := json.Marshal(s.Predicate.BuildDefinition)
	must(t, err)
	for _, want := range []string{`"version":"v1.2.3"`, `"gitCommit":"` + strings.Repeat("a", 40)} {
		if !strings.Contains(string(d), want) {
			t.Errorf("the provenance lacks %s: %s", want, d)
		}
	}
}

// TestDamage: whatever is changed, added, removed or signed by somebody else is found,
// by name.
func TestDamage(t *testing.T) {
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	}
	replace := func(name, old, with string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			text, err := os.ReadFile(filepath.Join(dir, name))
			must(t, err)
			if !strings.Contains(string(text), old) {
				t.Fatalf("%s has no %s", name, old)
			}
			write(name, strings.ReplaceAll(string(text), old, with))(t, dir)
		}
	}
	for _, tt := range []struct {
		name   string
		damage func(*testing.T, string)
		wrong  string
	}{
		{"changed", write("agegate.deb", "another package"), "agegate.deb"},
		{"added", write("tools/more", "a file"), "tools/more"},
		{"removed", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "tools/agegate-dev"))) }, "agegate-dev"},
		{"a link", func(t *testing.T, dir string) { must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link"))) }, "link"},
		{"another list", replace(Sums, "agegate.deb", "agegate.bed"), "ssh-keygen"},
		{"another statement", replace(Provenance, strings.Repeat("a", 40), strings.Repeat("b", 40)), Provenance},
		{"no signature", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, Signature))) }, "ssh-keygen"},
		{"another's signature", func(t *testing.T, dir string) {
			other, _ := sealed(t)
			text, err := os.ReadFile(filepath.Join(other, Signature))
			must(t, err)
			write(Signature, string(text))(t, dir)
		}, "ssh-keygen"},
	} {
		dir, signers := sealed(t)
		tt.damage(t, dir)
		err := run([]string{"verify", "-signers", signers, "-signer", "maintainer@agegate.example", dir})
		if err == nil || !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := parseSums(strings.Repeat("a", 64) + "  ../outside\n"); err == nil {
		t.Error("a list may name files outside the directory")
	}
}

// TestClients: the clients' files are the same when made again, and each is used as it is
// installed.
func TestClients(t *testing.T) {
	out, again := t.TempDir(), t.TempDir()
	for _, dir := range []string{out, again} {
		must(t, run([]string{"clients", "-root", "../../../..", "-out", dir, "-version", "v1.2.3+20260101.ab"}))
	}
	if err := writeClients("../../../..", out, "v99.0.0"); err == nil || !strings.Contains(err.Error(), "99.0.0") {
		t.Errorf("clients of another version: %v", err)
	}
	one, err := digests(out)
	must(t, err)
	two, err := digests(again)
	must(t, err)
	if err := same("the first holds", one, two); err != nil || len(one) != 3 {
		t.Errorf("%d files: %v", len(one), err)
	}
	wheel := filepath.Join(out, "agegate-1.2.3+20260101.ab-py3-none-any.whl")
	cmd := exec.Command("python3", "-c", "import agegate, importlib.metadata as m; print(m.version('agegate'), agegate.verify_redirect)")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+wheel)
	if text, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(text), "1.2.3+20260101.ab <function") {
		t.Errorf("Python: %v %s", err, text)
	}
	php := t.TempDir()
	tried(t, php, "python3", "-m", "zipfile", "-e", filepath.Join(out, "agegate-php-1.2.3+20260101.ab.zip"), php)
	script := `require "agegate-client-1.2.3+20260101.ab/src/redirect.php"; echo (int) function_exists("Agegate\\verifyRedirect");`
	if got := tried(t, php, "php", "-r", script); got != "1" {
		t.Errorf("PHP: %s", got)
	}
	site := t.TempDir()
	must(t, os.WriteFile(filepath.Join(site, "package.json"), []byte(`{"type":"module"}`), 0o600))
	packed, err := filepath.Glob(filepath.Join(out, "*.tgz"))
	must(t, err)
	tried(t, site, "npm", append([]string{"install", "--offline", "--no-audit", "--no-fund"}, packed...)...)
	if got := tried(t, site, "node", "-e", `import("@agegate/client").then((m) => console.log(typeof m.verifyRedirect))`); got != "function\n" {
		t.Errorf("npm: %s", got)
	}
}
