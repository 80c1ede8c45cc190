package trail_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"agegate/internal/rules/trail"
)

func TestHandler(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(trail.Handler{Handler: slog.NewTextHandler(&log, nil)}).With("part", "x")
	request := trail.Begin(t.Context(), slog.String("request_id", "r1"))
	inner, cancel := context.WithCancel(request)
	defer cancel()
	trail.Note(inner, "tenant_id", "t0")
	trail.Note(inner, "tenant_id", "t1")
	logger.InfoContext(request, "a", "session_id", "s1")
	trail.Note(request, "session_id", "s2")
	logger.InfoContext(request, "b", "session_id", "s1")
	logger.InfoContext(t.Context(), "c")
	trail.Note(t.Context(), "tenant_id", "nobody's")
	want := []string{
		"msg=a part=x session_id=s1 request_id=r1 tenant_id=t1\n",
		"msg=b part=x session_id=s1 request_id=r1 tenant_id=t1\n",
		"msg=c part=x\n",
	}
	lines := strings.SplitAfter(log.String(), "\n")
	for i, end := range want {
		if !strings.HasSuffix(lines[i], end) {
			t.Errorf("%s does not end with %s", lines[i], end)
		}
	}
}
