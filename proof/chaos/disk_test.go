//go:build linux

package chaos

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agegate/proof/table"
)

// TestDiskFull prevents the gateway under load from letting any file grow, and
// then allows it again. A process limit does this without privileges or a special
// disk.
func TestDiskFull(t *testing.T) {
	beside(t, true)
	db := sqlite(t)
	r := table.New(t, db.named(" 7 disk full"))
	receiver := newReceiver(t, always(accept))
	g := newGateway(t, db)
	l := newLoad(g.newShops(4, receiver), 10*time.Millisecond, g)
	g.start()
	stop := l.start(6)
	rounds := table.Sized(5, 2)
	var refusals []string
	var writes, reads, failedReads int
	var recovery time.Duration
	for range rounds {
		time.Sleep(time.Second)
		s, _, _ := l.insistOnCreate(t.Context(), g.url, l.keys[0])
		g.limitFiles(10_000) // the limit is inside a page
		for range 20 {
			_, a, ok := l.create(g.url, l.keys[0], rand.Text())
			writes++
			if ok || !envelope(a) {
				refusals = append(refusals, fmt.Sprintf("create: %d %.100s", a.status, a.body))
			}
			status, _ := l.status(g.url, s)
			reads++
			if status != "PENDING" {
				failedReads++
			}
		}
		g.limitFiles(unix.RLIM_INFINITY)
		freed := time.Now()
		recovery = max(recovery, l.awaitAfter(t, freed))
	}
	stop()
	creations, completions := l.acknowledged()
	r.Didf("full %d times under load; %d creations, %d completions", rounds, creations, completions)
	r.None(fmt.Sprintf("of %d creations on the full disk not 503 with the envelope", writes), refusals)
	r.Mark(fmt.Sprintf("of %d look-ups on the full disk failed", reads), "0", fmt.Sprint(failedReads), failedReads == 0)
	r.Within("first acknowledgement with room again, no restart", recovery, time.Second)
	if !g.running() {
		t.Error("the gateway has ended")
	}
	audit(t, r, db, l.account, receiver)
}

// limitFiles sets the maximum size of the files that the gateway writes, in
// bytes.
func (g *gateway) limitFiles(bytes uint64) {
	g.t.Helper()
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(g.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		g.t.Fatal(err)
	}
}

// envelope reports whether a reply is a 503 in the form of the contract.
func envelope(r reply) bool {
	var body struct {
		Detail string `json:"detail"`
	}
	return r.status == http.StatusServiceUnavailable && json.Unmarshal([]byte(r.body), &body) == nil && body.Detail != ""
}
