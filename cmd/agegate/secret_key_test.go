package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"agegate/internal/app"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"

	"github.com/google/uuid"
)

const (
	firstKey  = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	secondKey = "HxweHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgE="
	thirdKey  = "AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

// withKeys sets the secret key and the new key; an empty one is unset.
func (c *console) withKeys(key, next string) *console {
	c.env["AGEGATE_SECRET_KEY"], c.env["AGEGATE_NEW_SECRET_KEY"] = key, next
	return c
}

// sealed returns all sealed secrets in the database, by ID.
func (c *console) sealed() map[uuid.UUID]string {
	c.t.Helper()
	db, err := store.Open(c.t.Context(), store.Config{URL: c.env["AGEGATE_DATABASE_URL"]})
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()
	secrets, err := db.SecretsBefore(c.t.Context(), uuid.Max, uuid.Max, now(), 10_000)
	if err != nil {
		c.t.Fatal(err)
	}
	all := map[uuid.UUID]string{}
	for _, s := range secrets {
		all[s.ID] = string(s.Sealed)
	}
	return all
}

func TestSecretKeyRotate(t *testing.T) {
	c := newConsole(t).withKeys(firstKey, secondKey)
	if got := parsed[app.Resealed](c, "secret-key", "rotate", "--json"); got != (app.Resealed{}) {
		t.Errorf("an empty database: %+v", got)
	}
	c.withKeys(firstKey, "")
	id := parsed[createdTenant](c, "tenant", "create", "--name", "Shop", "--json").TenantID.String()
	c.run("webhook", "rotate", id, "--mode", "live")
	c.run("redirect", "stage", id, "--mode", "live")
	before := c.sealed()
	for _, tt := range []struct{ key, next, want string }{
		{firstKey, "", "AGEGATE_NEW_SECRET_KEY must be set"},
		{"", secondKey, "or in ~/agegate.env from the source"},
		{firstKey, firstKey, "AGEGATE_NEW_SECRET_KEY must differ from AGEGATE_SECRET_KEY"},
		{firstKey, "short", "AGEGATE_NEW_SECRET_KEY must be 32 bytes in base64"},
		{thirdKey, secondKey, "nothing was changed, because neither key fits the whole database"},
	} {
		_, err := c.withKeys(tt.key, tt.next).try("secret-key", "rotate")
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.key != "" && strings.Contains(err.Error(), tt.key) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
	for id, value := range c.sealed() {
		if before[id] != value {
			t.Errorf("a refused rotation changed the secret %s", id)
		}
	}

	out := c.withKeys(firstKey, secondKey).run("secret-key", "rotate")
	if !strings.Contains(out, "Signing secrets: 6 sealed under the new key, 0 were already") ||
		strings.Contains(out, firstKey) || strings.Contains(out, secondKey) {
		t.Errorf("rotate prints %q", out)
	}
	for id, value := range c.sealed() {
		if before[id] == value {
			t.Errorf("the secret %s was not sealed under the new key", id)
		}
	}
	if got := parsed[app.Resealed](c, "secret-key", "rotate", "--json"); got.Secrets.Resealed != 0 ||
		got.Secrets.Already != 6 {
		t.Errorf("a second run: %+v", got)
	}
	if _, err := c.withKeys(firstKey, "").try("tenant", "create", "--name", "X"); err == nil ||
		!strings.Contains(err.Error(), "AGEGATE_SECRET_KEY does not fit the database") {
		t.Errorf("with the old key: %v", err)
	}
	c.withKeys(secondKey, "").run("tenant", "create", "--name", "X")

	// The change can be reversed.
	if got := parsed[app.Resealed](c.withKeys(secondKey, firstKey), "secret-key", "rotate",
		"--json"); got.Secrets.Resealed != 10 {
		t.Errorf("back: %+v", got)
	}
	c.withKeys(firstKey, "").run("tenant", "create", "--name", "Y")
}

// A rotation killed with SIGKILL is completed by another run, and every secret is the same as before.
func TestSecretKeyRotateKilled(t *testing.T) {
	c := newConsole(t)
	c.run("migrate")
	secrets := c.secretsUnder(firstKey, 60)
	for round := range 3 {
		key, next := firstKey, secondKey
		if round%2 == 1 {
			key, next = secondKey, firstKey
		}
		c.withKeys(key, next).killed("secret-key", "rotate")
		got := parsed[app.Resealed](c, "secret-key", "rotate", "--json").Secrets
		if got.Already < 100 || got.Already+got.Resealed != 4*60 {
			t.Errorf("after the kill: %+v", got)
		}
		if after := c.secretsUnder(next, 0); len(after) != len(secrets) {
			t.Errorf("%d tenants, want %d", len(after), len(secrets))
		} else {
			for id, want := range secrets {
				if after[id] != want {
					t.Errorf("the secrets of tenant %s changed", id)
				}
			}
		}
	}
}

// secretsUnder creates n tenants and returns the live secrets of all tenants, opened with the given key alone.
func (c *console) secretsUnder(key string, n int) map[uuid.UUID]string {
	c.t.Helper()
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		c.t.Fatal(err)
	}
	sealer, err := credential.NewSealer(raw, rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	db, err := store.Open(c.t.Context(), store.Config{URL: c.env["AGEGATE_DATABASE_URL"]})
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()
	tenants := tenant.NewService(db, sealer, tenant.CallbackRule{}, rand.Reader, now)
	for range n {
		if _, err := tenants.Create(c.t.Context(), audit.System("test"), tenant.Tenant{Name: "Shop"}); err != nil {
			c.t.Fatal(err)
		}
	}
	all, err := tenants.Tenants(c.t.Context(), uuid.Nil)
	if err != nil {
		c.t.Fatal(err)
	}
	secrets := map[uuid.UUID]string{}
	for _, t := range all {
		redirect, err := tenants.RedirectKey(c.t.Context(), t.ID, true)
		if err != nil {
			c.t.Fatal(err)
		}
		webhooks, err := tenants.WebhookKeys(c.t.Context(), t.ID, false)
		if err != nil {
			c.t.Fatal(err)
		}
		secrets[t.ID] = fmt.Sprintf("%x %x", redirect, webhooks)
	}
	return secrets
}

// killed runs a command as a process and kills it when it reports progress.
func (c *console) killed(args ...string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "agegate", args...) // testscript.Main installs the command
	cmd.Env = os.Environ()
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	progress, err := cmd.StderrPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	line, err := bufio.NewReader(progress).ReadString('\n')
	if err != nil || !strings.Contains(line, "Signing secrets") {
		c.t.Errorf("progress %q, %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // the process was killed, so Wait returns an error
}
