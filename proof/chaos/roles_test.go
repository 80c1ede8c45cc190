//go:build linux

package chaos

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	staff "agegate/internal/backoffice/account"
	"agegate/internal/rules/credential"
	"agegate/internal/store"
	"agegate/proof/table"

	"github.com/google/uuid"
)

// apiMemory is the maximum memory, in KiB, that a process of the API alone may
// use, with its dashboard in use: 60 MB. startMemory is that of its start, which reads the texts of 15 languages.
const (
	apiMemory   = 60_000_000 >> 10
	startMemory = 64_000_000 >> 10
)

// TestRoles runs the API, which has no models, and the hosted page as separate
// processes, and kills each of them under load. It runs before the faults that
// run in parallel: its creations, as fast as the API allows, would slow them
// down.
func TestRoles(t *testing.T) {
	db := postgres(t)
	r := table.New(t, db.named("14 API and hosted page apart"))
	receiver := newReceiver(t, always(accept))
	api := newGateway(t, db, "AGEGATE_ROLE=api", "AGEGATE_ESTIMATOR=onnx", "AGEGATE_MODELS_DIR="+t.TempDir())
	api.program = installed(t)
	pages := newGateway(t, db, "AGEGATE_ROLE=pages")
	l := newLoad(api.newShops(4, receiver), 10*time.Millisecond, api)
	l.pages = pages.url
	api.start()
	pages.start()
	started, starting := memory(t, api)
	resetPeak(t, api)
	l.createMany(t, api.url, table.Sized(2000, 500))
	_, most := memory(t, api)
	api.browse(t, db, table.Sized(20, 3))
	_, used := memory(t, api)
	library := strings.Contains(mapped(t, api), "onnxruntime")

	stop := l.start(6)
	kills := table.Sized(10, 2)
	for range kills {
		for _, g := range []*gateway{pages, api} {
			l.awaitAfter(t, time.Now())
			g.kill()
			time.Sleep(200 * time.Millisecond)
			g.start()
		}
	}
	stop()
	creations, completions := l.acknowledged()
	r.Didf("each killed %d times; %d creations, %d completions; the API's process used %d MiB after its start and %d "+
		"MiB at most with its dashboard in use", kills, creations, completions, started>>10, used>>10)
	for _, m := range []struct {
		while      string
		mark, most int
	}{
		{"starting", startMemory, starting}, {"creating and looking up", apiMemory, most},
		{"with its dashboard", apiMemory, used},
	} {
		r.Mark("most memory of the API, "+m.while, fmt.Sprintf("< %d MiB", m.mark>>10), fmt.Sprintf("%d MiB", m.most>>10),
			m.most < m.mark)
	}
	r.Mark("ONNX Runtime in the API's process", "no", map[bool]string{true: "yes", false: "no"}[library], !library)
	audit(t, r, db, l.account, receiver)
}

// installed copies the binary in small pieces, as installing it does. If a file
// is written at once, the kernel keeps it in memory in large pieces, and maps a
// whole piece when a process needs one page of it.
func installed(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agegate")
	if out, err := exec.Command("install", binary, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// createMany creates n sessions and looks up each, as fast as possible.
func (l *load) createMany(t *testing.T, gateway string, n int) {
	t.Helper()
	var all sync.WaitGroup
	work := make(chan int)
	for range 16 {
		all.Go(func() {
			for i := range work {
				s, _, ok := l.insistOnCreate(t.Context(), gateway, l.keys[i%len(l.keys)])
				status, r := l.status(gateway, s)
				l.noteStatus(s, "PENDING", cmp.Or(status, "no status"), r)
				if !ok {
					return
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	all.Wait()
}

// browse lets a member of staff open the pages of the tenant with the first
// session, in both languages, a number of times.
func (g *gateway) browse(t *testing.T, db database, times int) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: db.url})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	user, now := uuid.Must(uuid.NewV7()), time.Now().UTC()
	token, err := credential.NewLinkToken(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var first string
	conn := db.connect(t)
	if err := conn.QueryRowContext(t.Context(),
		"SELECT CAST(tenant_id AS text) FROM sessions ORDER BY id LIMIT 1").Scan(&first); err != nil {
		t.Fatal(err)
	}
	err = s.UpdateAccounts(t.Context(), func(tx staff.Tx) error {
		return errors.Join(
			tx.InsertUser(staff.User{ID: user, Email: "staff@example.com", Name: "Staff", CreatedAt: now}),
			tx.InsertMembership(staff.Membership{
				TenantID: uuid.MustParse(first), UserID: user, Role: staff.Owner, CreatedAt: now,
			}),
			tx.InsertLogin(staff.Login{
				Hash: credential.HashToken(token), UserID: user, Methods: []staff.Method{staff.ByPasskey},
				CreatedAt: now, SeenAt: now, EndsAt: now.Add(time.Hour),
			}))
	})
	if err != nil {
		t.Fatal(err)
	}
	c := newClient()
	for range times {
		for _, language := range []string{"en", "de"} {
			for _, path := range []string{
				"/test", "/test/sessions", "/test/keys", "/test/webhooks", "/test/refusals", "/test/paste", "/test/playground",
				"/live",
				"/settings", "/team", "/billing", "/audit",
			} {
				res := c.do(http.MethodGet, g.url+"/dashboard/"+first+path, "", "Cookie", "agegate-user="+token, "Accept-Language",
					language)
				if res.status != http.StatusOK || !strings.Contains(res.body, `lang="`+language+`"`) {
					t.Fatalf("%s in %s: %d", path, language, res.status)
				}
			}
		}
	}
}

// memory returns the current and the maximum resident memory of a gateway's
// process, in KiB.
func memory(t *testing.T, g *gateway) (now, most int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	figure := func(name string) int {
		found := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("the process has no %s", name)
		}
		n, err := strconv.Atoi(string(found[1]))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return figure("VmRSS"), figure("VmHWM")
}

// resetPeak lets the most memory of a gateway's process count from now on (proc(5), clear_refs).
func resetPeak(t *testing.T, g *gateway) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", g.cmd.Process.Pid), []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mapped lists the files that a gateway's process has in memory.
func mapped(t *testing.T, g *gateway) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", g.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
