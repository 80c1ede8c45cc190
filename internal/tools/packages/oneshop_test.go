package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestOneShop pastes the commands of docs/operations/one-shop.md on a bare Debian, but for those that need the sources,
// a name in DNS or a mail server: they configure and start the gateway, make a link, back up,
// fetch the backup as another machine does, and restore.
func TestOneShop(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operations/one-shop.md")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if err != nil || len(blocks) != 10 {
		t.Fatalf("%d blocks of commands: %v", len(blocks), err)
	}
	m := bareDebian(t)
	m.install(built(t))
	m.run("sh", "-c", "mkdir -p /etc/ssh/sshd_config.d; echo ListenAddress 127.0.0.1 >/etc/ssh/sshd_config.d/here.conf")
	m.run("apt-get", "install", "--yes", "--no-install-recommends", "-o", "APT::Sandbox::User=root", "sqlite3",
		"openssh-server")
	m.run("systemctl", "start", "ssh")
	address := freeAddress(t)
	here := strings.NewReplacer("https://age.example.com", "http://"+address, "LISTEN=:443", "LISTEN="+address,
		"age.example.com", "127.0.0.1", `." KEY'`, `." '"$(cat /root/.ssh/age.pub)"`)
	elsewhere := regexp.MustCompile(`(?m)^AGEGATE_(TLS|SMTP_URL|MAIL_FROM)=.*\n`)
	for i, want := range []string{"", "the API answers", "/dashboard/link/", "the last backup is 0 h old",
		"ssh-ed25519 ", "", "The gateway is ready."} {
		commands := elsewhere.ReplaceAllString(here.Replace(blocks[i+2][1]), "")
		if out := m.run("sh", "-euc", "PATH=/usr/local/sbin:$PATH\n"+commands); !strings.Contains(out, want) {
			t.Errorf("%s\nprints\n%s\nwant %q", commands, out, want)
		}
	}
	fetched := m.run("sh", "-euc", "systemctl start age-fetch; ls /var/backups/age; "+
		"ssh -i /root/.ssh/age fetch@127.0.0.1 id | tar -t")
	if strings.Count(fetched, ".db") != 2 || strings.Contains(fetched, "uid=") {
		t.Errorf("the other machine has\n%s", fetched)
	}
}
