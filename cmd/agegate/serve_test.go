package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agegate/cmd/internal/terminal"
)

// TestJSONLog: every line of a gateway is an object, also the one that says why its
// start has failed; a failure of the configuration has its own exit code.
func TestJSONLog(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLR", "canary") // unknown ones are looked for in the process's own environment
	database := "sqlite:" + filepath.Join(t.TempDir(), "agegate.db")
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(damaged, bytes.Repeat([]byte("x"), 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what string
		env  map[string]string
		code int
		says string
	}{
		{"it ends in order", nil, 0, "there is no operator yet"},
		{"no models", map[string]string{"AGEGATE_ESTIMATOR": "onnx", "AGEGATE_MODELS_DIR": t.TempDir()}, exitConfig,
			"models are not installed"},
		{"a misspelt variable", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, 0,
			`"names":["OTEL_TRACES_SAMPLR"]`},
		{"a damaged database", map[string]string{"AGEGATE_DATABASE_URL": "sqlite:" + damaged}, 1,
			"restore the last backup as docs/operations/back-up.md says"},
		{"a taken address", map[string]string{"AGEGATE_LISTEN": "192.0.2.1:1"}, 1, "AGEGATE_LISTEN"},
	} {
		env := map[string]string{"AGEGATE_LOG_FORMAT": "json", "AGEGATE_DATABASE_URL": database,
			"AGEGATE_LISTEN":     "127.0.0.1:0",
			"AGEGATE_SECRET_KEY": firstKey, "AGEGATE_ESTIMATOR": "off"}
		maps.Copy(env, tt.env)
		ctx, cancel := context.WithCancel(t.Context())
		var stdout bytes.Buffer
		stderr := untilServing{cancel: cancel}
		err := run(ctx, []string{"serve"}, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, &stdout,
			&stderr)
		cancel()
		exit, isExit := errors.AsType[terminal.ExitError](err)
		if exit.Code != tt.code || isExit && exit.Err != nil || (err != nil) != (tt.code != 0) {
			t.Errorf("%s: %v, code %d", tt.what, err, exit.Code)
		}
		if !strings.Contains(stderr.String(), tt.says) || strings.Contains(stderr.String(), "canary") ||
			stdout.Len() > 0 {
			t.Errorf("%s: %q, %q", tt.what, stderr.String(), &stdout)
		}
		for line := range strings.Lines(stderr.String()) {
			var object struct{ Time, Level, Msg string }
			if err := json.Unmarshal([]byte(line), &object); err != nil || object.Msg == "" || object.Level == "" {
				t.Errorf("%s: %q is no line of a log: %v", tt.what, line, err)
			}
		}
	}
}

// untilServing keeps what is logged, and ends the gateway once it serves.
type untilServing struct {
	bytes.Buffer
	cancel func()
}

// Write implements io.Writer. A logger calls it for one line at a time.
func (u *untilServing) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"msg":"serving"`)) {
		u.cancel()
	}
	return u.Buffer.Write(line)
}
