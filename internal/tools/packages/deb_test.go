package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestUnit checks systemd's rating of the unit's sandbox, from 0 (safe) to 10
// (unsafe).
func TestUnit(t *testing.T) {
	out, err := exec.Command("systemd-analyze", "security", "--offline=yes", "--threshold=20",
		"../../../deploy/debian/agegate.service").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("Overall exposure level for agegate.service: ")) {
		t.Errorf("the exposure is over 2.0, or unknown: %v\n%s", err, out)
	}
}

// machine is a Debian in a systemd container, on this machine's network.
type machine struct {
	t      *testing.T
	root   string
	leader string // PID of its systemd
}

// bareDebian installs and starts the smallest Debian that systemd can start, in
// the release of this machine.
func bareDebian(t *testing.T) machine {
	t.Helper()
	needRoot(t, "mmdebstrap", "systemd-nspawn", "nsenter")
	osRelease, err := os.ReadFile("/etc/os-release")
	if err != nil {
		t.Fatal(err)
	}
	suite := regexp.MustCompile(`(?m)^VERSION_CODENAME=(.+)$`).FindSubmatch(osRelease)
	if suite == nil {
		t.Fatal("this machine is neither Debian nor Ubuntu: /etc/os-release names no release")
	}
	m := machine{t: t, root: filepath.Join(work, "debian-"+t.Name())}
	first := filepath.Join(work, "debian") // the other machines are copies of it
	if _, err := os.Stat(first); err != nil {
		start := time.Now()
		output(t, exec.Command("mmdebstrap", "--quiet", "--variant=minbase", "--dpkgopt=force-unsafe-io",
			"--include=systemd-sysv", "--skip=cleanup/apt/lists", string(suite[1]), first))
		t.Logf("a bare Debian took %.0f s", time.Since(start).Seconds())
	}
	output(t, exec.Command("cp", "-a", first, m.root))

	boot := exec.Command("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--console=pipe", "--directory="+
		m.root, "--boot")
	var log bytes.Buffer
	boot.Stdout, boot.Stderr = &log, &log
	if err := boot.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- boot.Wait() }()
	t.Cleanup(func() {
		_ = boot.Process.Signal(syscall.SIGTERM) // makes it power off
		<-ended
	})
	until(t, "the machine runs", func() bool {
		if len(ended) > 0 {
			t.Fatalf("it ended: %v\n%s", <-ended, &log)
		}
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", boot.Process.Pid))
		if m.leader, _, _ = strings.Cut(string(children), " "); err != nil || m.leader == "" {
			return false
		}
		state, _ := m.command("systemctl", "is-system-running").Output()
		return strings.TrimSpace(string(state)) == "running"
	})
	return m
}

// command prepares a command to run as the machine's root.
func (m machine) command(args ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"--target", m.leader, "--mount", "--uts", "--ipc", "--pid", "--root",
		"--wd"}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}
	return cmd
}

// run runs a command and returns its output.
func (m machine) run(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		journal, _ := m.command("journalctl", "--unit", "agegate", "--no-pager").Output()
		m.t.Fatalf("%s: %v\n%s\n%s", strings.Join(args, " "), err, out, journal)
	}
	return strings.TrimSpace(string(out))
}

// agegate prepares an operator's command in the form of docs/operations/install.md.
func (m machine) agegate(args ...string) *exec.Cmd {
	return m.command(append([]string{"runuser", "-u", "agegate", "--", "sh", "-c",
		`set -a; . /etc/agegate/agegate.env; exec agegate "$@"`, "sh"}, args...)...)
}

func (m machine) read(path string) []byte {
	m.t.Helper()
	data, err := os.ReadFile(m.root + path)
	if err != nil {
		m.t.Fatal(err)
	}
	return data
}

func (m machine) exists(path string) bool {
	_, err := os.Lstat(m.root + path)
	return !errors.Is(err, os.ErrNotExist)
}

// install copies a package to the machine and installs it with its dependencies.
func (m machine) install(r release) string {
	m.t.Helper()
	data, err := os.ReadFile(r.path(".deb"))
	if err == nil {
		err = os.WriteFile(m.root+"/var/cache/agegate.deb", data, 0o600)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return m.run("apt-get", "install", "--yes", "--no-install-recommends", "-o", "APT::Sandbox::User=root",
		"/var/cache/agegate.deb")
}

const environmentFile = "/etc/agegate/agegate.env"

// TestDeb installs the package on a bare Debian, serves a camera check, upgrades it,
// removes it and purges it.
func TestDeb(t *testing.T) {
	one, two := built(t), sample("v1.1.0", "upgrade")
	m := bareDebian(t)
	printed := m.install(one)
	key := secretKey(t, m)
	if strings.Contains(printed, key) || !strings.Contains(printed, "set AGEGATE_BASE_URL in "+environmentFile) {
		t.Errorf("the installation prints %s", printed)
	}
	if got := m.run("stat", "-c", "%U:%G %a", environmentFile,
		"/var/lib/agegate"); got != "root:agegate 640\nagegate:agegate 750" {
		t.Errorf("owners and modes: %s", got)
	}
	if m.run("dpkg", "--verify", "agegate"); m.command("systemctl", "is-active", "agegate").Run() == nil {
		t.Error("it was started before it was configured")
	}
	for _, name := range []string{"copyright", "licences.txt", "changelog.gz", "operations.md"} {
		m.read(docDir + "/" + name)
	}

	at := m.configure()
	m.run("systemctl", "enable", "--now", "agegate")
	m.ready(at)
	m.sandboxed()
	if out := output(t, m.agegate("health")); out != "The gateway is ready.\n" {
		t.Errorf("health says %q", out)
	}
	shop := newShop(t, at, m.agegate)
	session := shop.check()

	configured, process := m.read(environmentFile), m.pid()
	if err := run(two, []string{"deb"}); err != nil {
		t.Fatal(err)
	}
	m.install(two)
	if got := m.run("dpkg-query", "--show", "--showformat=${Version} ${Status}",
		"agegate"); got != "1.1.0 install ok installed" {
		t.Errorf("after the upgrade it is %s", got)
	}
	m.ready(at)
	if m.pid() == process {
		t.Error("the upgrade did not restart the service")
	}
	shop.passed(session)

	m.run("apt-get", "remove", "--yes", "agegate")
	if status(at+"/healthz") != 0 || m.exists("/usr/bin/agegate") ||
		m.exists("/etc/systemd/system/multi-user.target.wants/agegate.service") {
		t.Error("something runs or is left after the removal")
	}
	if !bytes.Equal(m.read(environmentFile), configured) {
		t.Error("the configuration was changed")
	}
	printed = m.run("apt-get", "purge", "--yes", "agegate")
	if !strings.Contains(printed, "left in place: /var/lib/agegate") || m.exists("/etc/agegate") ||
		bytes.Contains(m.read("/etc/passwd"), []byte("agegate")) {
		t.Errorf("purged: %s", printed)
	}
	if got := m.run("stat", "-c", "%U:%G %a", "/var/lib/agegate",
		"/var/lib/agegate/agegate.db"); got != "root:root 700\nroot:root 600" {
		t.Errorf("the database after the purge: %s", got)
	}

	// The same database serves again, with the operator's copy of the key.
	m.install(two)
	if fresh := secretKey(t, m); fresh == key {
		t.Error("the secret key survived the purge")
	}
	if err := os.WriteFile(m.root+environmentFile, configured, 0o600); err != nil {
		t.Fatal(err)
	}
	m.run("systemctl", "start", "agegate")
	if got := status(at + "/readyz"); got != 200 {
		t.Errorf("the start has returned, and /readyz answers %d", got)
	}
	shop.passed(session)
	m.refusesToStart(configured)
}

// refusesToStart checks that a start fails where the configuration does, and that
// systemd does not repeat it.
func (m machine) refusesToStart(configured []byte) {
	m.t.Helper()
	m.run("systemctl", "stop", "agegate")
	wrong := append(bytes.Clone(configured), "AGEGATE_RETENTON=90d\n"...)
	if err := os.WriteFile(m.root+environmentFile, wrong, 0o600); err != nil {
		m.t.Fatal(err)
	}
	if m.command("systemctl", "start", "agegate").Run() == nil {
		m.t.Error("the start succeeds with a misspelt variable")
	}
	if got := m.run("systemctl", "show", "--property=ActiveState,NRestarts,ExecMainStatus", "agegate"); got !=
		"NRestarts=0\nExecMainStatus=78\nActiveState=failed" {
		m.t.Errorf("after it: %s", got)
	}
	if log := m.run("journalctl", "--unit", "agegate", "--no-pager"); !strings.Contains(log, "AGEGATE_RETENTON is not a") {
		m.t.Errorf("the journal does not name the variable:\n%s", log)
	}
}

// secretKey returns the key that the installation created.
func secretKey(t *testing.T, m machine) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^AGEGATE_SECRET_KEY=(.+)$`).FindAllSubmatch(m.read(environmentFile), -1)
	if len(found) != 1 {
		t.Fatalf("%d secret keys", len(found))
	}
	if raw, err := base64.StdEncoding.DecodeString(string(found[0][1])); err != nil || len(raw) != 32 {
		t.Errorf("a key of %d bytes, %v", len(raw), err)
	}
	return string(found[0][1])
}

// configure gives the gateway its public address, as an operator does, and
// returns it.
func (m machine) configure() string {
	m.t.Helper()
	address := freeAddress(m.t)
	text := regexp.MustCompile(`(?m)^AGEGATE_LISTEN=.*$`).ReplaceAll(m.read(environmentFile),
		[]byte("AGEGATE_LISTEN="+address))
	text = regexp.MustCompile(`(?m)^AGEGATE_BASE_URL=.*$`).ReplaceAll(text, []byte("AGEGATE_BASE_URL=http://"+address))
	text = append(text, "AGEGATE_OPERATOR_NAME='Corner Cellar & Co.'\n"+margin+"\n"...)
	if err := os.WriteFile(m.root+environmentFile, text, 0o600); err != nil {
		m.t.Fatal(err)
	}
	return "http://" + address
}

// ready waits until the service answers.
func (m machine) ready(at string) {
	m.t.Helper()
	until(m.t, "the service is ready", func() bool {
		m.run("sh", "-c", "! systemctl is-failed agegate")
		return status(at+"/readyz") == 200
	})
}

func (m machine) pid() string {
	m.t.Helper()
	return m.run("systemctl", "show", "--property=MainPID", "--value", "agegate")
}

// sandboxed checks that the running service has the settings of the unit.
func (m machine) sandboxed() {
	m.t.Helper()
	status := m.run("sh", "-c", `cat /proc/"$1"/status`, "sh", m.pid())
	uid := m.run("id", "-u", "agegate")
	// Of the capabilities it has CAP_NET_BIND_SERVICE alone, for the ports of https.
	for _, want := range []string{"Uid:\t" + uid + "\t" + uid, "CapEff:\t0000000000000400", "CapBnd:\t0000000000000400",
		"NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(status, want) {
			m.t.Errorf("the process does not have %q:\n%s", want, status)
		}
	}
}
