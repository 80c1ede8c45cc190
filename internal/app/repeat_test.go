package app

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestRepeatLogsTheStack: a job that panics is logged with where it did, and without the panic's value.
func TestRepeatLogsTheStack(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := &App{log: slog.New(slog.NewTextHandler(&log, nil))}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	a.repeat(ctx, time.Millisecond, "a job failed", func(context.Context) error {
		if calls++; calls > 1 {
			cancel()
			return nil
		}
		panic("a secret")
	})
	text := log.String()
	if !strings.Contains(text, "a job failed") || !strings.Contains(text, "TestRepeatLogsTheStack") ||
		strings.Contains(text, "secret") {
		t.Errorf("the log: %s", text)
	}
}
