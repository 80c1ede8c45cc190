package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// console runs commands on one database, as an operator does.
type console struct {
	t   *testing.T
	env map[string]string
}

func newConsole(t *testing.T) *console {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agegate.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return &console{t, map[string]string{
		"AGEGATE_DATABASE_URL": "sqlite:" + path,
		"AGEGATE_SECRET_KEY":   "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
	}}
}

// output runs a command and returns what it printed to each stream.
func (c *console) output(args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	err = run(c.t.Context(), args, func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }, &out, &errs)
	return out.String(), errs.String(), err
}

func (c *console) try(args ...string) (string, error) {
	stdout, stderr, err := c.output(args...)
	return stdout + stderr, err
}

func (c *console) run(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("agegate %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// parsed runs a command that prints JSON.
func parsed[T any](c *console, args ...string) T {
	c.t.Helper()
	var v T
	stdout, _, err := c.output(args...)
	dec := json.NewDecoder(strings.NewReader(stdout))
	dec.DisallowUnknownFields()
	if err := errors.Join(err, dec.Decode(&v)); err != nil {
		c.t.Fatalf("agegate %s: %v", strings.Join(args, " "), err)
	}
	return v
}
