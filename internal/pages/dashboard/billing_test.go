package dashboard_test

import (
	"bytes"
	"fmt"
	"html"
	"net/url"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

func TestBilling(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		g.Clock.Begin(time.Hour)
		free := int64(3)
		o := newStaffed(t, g, func(t *tenant.Tenant) { t.Name, t.FreeChecks = "=cmd|' /C calc'!A0", &free })
		for range 2 {
			g.Create(t, o.shop.Live.APIKey, 18)
		}
		if _, err := billing.TopUp(t.Context(), g.App.Store, audit.System("test"), o.shop.Tenant.ID, 60, "=invoice <12>",
			g.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		_, body := o.viewer.Get(t, o.at("/billing"))
		for _, shown := range []string{"2 of 3 spent or reserved", "<strong>60</strong>", "a free check of 20",
			"Credit was added<br><small>=invoice &lt;12&gt;</small>", ">+60</td>", ">−1</td>",
			"/docs/go-live#what-a-check-costs"} {
			if !strings.Contains(body, shown) {
				t.Errorf("the page lacks %q", shown)
			}
		}
		if strings.Contains(body, "archived lines") {
			t.Error("a top-up or a session's line stands for others")
		}
		low := func(path string) bool {
			res, body := o.owner.Get(t, o.at(path))
			want(t, path, res, 200, "")
			_, warning, warned := strings.Cut(body, "Only 61 checks are left, fewer than 62")
			warning, _, _ = strings.Cut(warning, "</p>")
			if warned && strings.Contains(warning, "<a ") != (path == "/test") {
				t.Errorf("the warning on %s leads to billing: %t", path, path != "/test")
			}
			return warned
		}
		for below, warned := range map[string]bool{"": false, "61": false, "62": true} {
			o.owner.Post(t, o.at("/settings"), o.filled(t, o.owner, url.Values{"alert_below": {below}}))
			if low("/billing") != warned || low("/test") != warned || low("/settings") {
				t.Errorf("with a threshold of %q there is a warning where there should be none, or none", below)
			}
		}

		month := g.Clock.Now().Format("2006-01")
		res, csv := o.viewer.Get(t, o.at("/billing/ledger.csv?month="+month))
		want(t, "download", res, 200, "")
		lines := strings.Split(strings.TrimSpace(csv), "\n")
		if len(lines) != 4 || !strings.Contains(lines[1], ",'=cmd|' /C calc'!A0,hold,free,"+month+",-1,") ||
			!strings.Contains(lines[3], ",top_up,credit,,60,,") || !strings.HasSuffix(lines[0], ",entry_id,note") ||
			!strings.HasSuffix(lines[1], ",") || !strings.HasSuffix(lines[3], ",'=invoice <12>") {
			t.Errorf("the download has %q", lines)
		}
		if got := res.Header.Get("Content-Disposition"); got != `attachment; filename="ledger-`+month+`.csv"` {
			t.Errorf("it is %s", got)
		}
		res, csv = o.viewer.Get(t, o.at("/billing/ledger.csv?month=2020-02"))
		if want(t, "an empty month", res, 200, ""); strings.Count(csv, "\n") != 1 {
			t.Errorf("an empty month has %q", csv)
		}
		for _, bad := range []string{"/billing/ledger.csv?month=x", "/billing?before=x", "/billing?before=" +
			uuid.NewString()} {
			res, _ = o.viewer.Get(t, o.at(bad))
			want(t, bad, res, 404, "")
		}
	})
}

// TestNotesOfManyTopUps: the file has the note of a top-up however many came after it.
func TestNotesOfManyTopUps(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	o := newStaffed(t, g, nil)
	for i := range audit.MaxPage + 1 {
		if _, err := billing.TopUp(t.Context(), g.App.Store, audit.System("test"), o.shop.Tenant.ID, 1,
			fmt.Sprintf("invoice %d.", i), g.Clock.Now().Add(time.Duration(i)*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	if _, csv := o.viewer.Get(t, o.at("/billing/ledger.csv")); !strings.Contains(csv, ",invoice 0.\n") ||
		!strings.Contains(csv, fmt.Sprintf(",invoice %d.\n", audit.MaxPage)) {
		t.Error("the file lacks the note of the first top-up or of the last one")
	}
}

// fillLedger adds n entries within one minute, the newest a second ago.
func fillLedger(t *testing.T, o *staffed, n int) {
	t.Helper()
	at := o.Clock.Now().Add(-time.Second).Format("2006-01-02 15:04:05+00:00")
	id := "substr(lower(hex(randomblob(16))), 1, 8) || '-0000-7000-8000-' || substr(lower(hex(randomblob(16))), 1, 12)"
	o.Exec(t, fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO ledger_entries (id, tenant_id, kind, source, period, delta, created_at)
		SELECT %s, '%s', 'hold', 'free', '2026-01', -1, '%s' FROM n`, n, id, o.shop.Tenant.ID, at))
}

func TestLedgerPages(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	o := newStaffed(t, g, nil)
	fillLedger(t, o, 120)
	path, seen, newer := o.at("/billing"), 0, false
	for pages := 1; ; pages++ {
		res, body := o.viewer.Get(t, path)
		want(t, path, res, 200, "")
		seen += strings.Count(body, "−1</td>")
		sums := strings.Count(body, "reserved – the sum of the month’s archived lines</span></td>")
		if sums != strings.Count(body, "−1</td>") {
			t.Errorf("page %d does not say that the lines stand for others", pages)
		}
		if got := strings.Contains(body, ">Newest</a>"); got != newer {
			t.Errorf("page %d: newer %t", pages, got)
		}
		_, pager, _ := strings.Cut(body, `<nav class="pager"`)
		before, _, more := strings.Cut(pager, `">Older</a>`)
		if !more {
			break
		}
		newer = true
		path = html.UnescapeString(before[strings.LastIndex(before, `href="`)+6:])
		path, _, _ = strings.Cut(path, "#")
	}
	if seen != 120 {
		t.Errorf("the pages have %d lines", seen)
	}
}

// TestLongLedgerTakesLittleMemory: a download's memory does not depend on the ledger's length or what has been sent.
func TestLongLedgerTakesLittleMemory(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	g.Clock.Begin(time.Hour)
	g.Clock.Advance(time.Minute) // the lines are of this month, too
	o := newStaffed(t, g, nil)
	const lines = 200_000
	fillLedger(t, o, lines)
	// Measures the memory in use while the server waits for its client. It
	// collects twice, because what is allocated during a collection counts as in
	// use.
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		return int64(live[0].Value.Uint64())
	}
	base, grown := heap(), int64(0)
	began := time.Now()
	res := o.viewer.Open(t, o.at("/billing/ledger.csv"))
	n, size, next := 0, 0, 0
	for buf := make([]byte, 32<<10); ; {
		read, err := res.Body.Read(buf)
		n, size = n+bytes.Count(buf[:read], []byte("\n")), size+read
		if err != nil {
			break
		}
		if size >= next {
			grown, next = max(grown, heap()-base), size+2<<20
		}
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	if n != lines+1 || size < 16<<20 {
		t.Errorf("%d lines, %d bytes", n, size)
	}
	t.Logf("%d lines in %v; the heap grew by %d KiB", n, time.Since(began), grown>>10)
	if grown > 12<<20 {
		t.Errorf("the heap grew by %d KiB for a download of %d KiB", grown>>10, size>>10)
	}
}
