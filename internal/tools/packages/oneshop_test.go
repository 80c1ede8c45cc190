package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestOneShop pastes the commands of docs/operations/one-shop.md on a bare Debian, but for those that need the sources,
// a name in DNS or a mail server: they configure and start the gateway, make a link, back up, and restore.
func TestOneShop(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operations/one-shop.md")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if err != nil || len(blocks) != 8 {
		t.Fatalf("%d blocks of commands: %v", len(blocks), err)
	}
	m := bareDebian(t)
	m.install(built(t))
	m.run("apt-get", "install", "--yes", "--no-install-recommends", "-o", "APT::Sandbox::User=root", "sqlite3")
	address := freeAddress(t)
	here := strings.NewReplacer("https://age.example.com", "http://"+address, "LISTEN=:443", "LISTEN="+address)
	elsewhere := regexp.MustCompile(`(?m)^AGEGATE_(TLS|SMTP_URL|MAIL_FROM)=.*\n`)
	for i, want := range []string{"", "the API answers", "/dashboard/link/", "the last backup is 0 h old",
		"The gateway is ready."} {
		commands := elsewhere.ReplaceAllString(here.Replace(blocks[i+2][1]), "")
		if out := m.run("sh", "-euc", "PATH=/usr/local/sbin:$PATH\n"+commands); !strings.Contains(out, want) {
			t.Errorf("%s\nprints\n%s\nwant %q", commands, out, want)
		}
	}
}
