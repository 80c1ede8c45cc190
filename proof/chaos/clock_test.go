//go:build linux

package chaos

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/check/document/trustlist/trustlisttest"
	"agegate/internal/gatewaytest"
	"agegate/proof/table"
)

// newSkewed prepares a gateway whose clock is ahead by some time.
func newSkewed(t *testing.T, db database, ahead time.Duration, settings ...string) *gateway {
	t.Helper()
	g := newGateway(t, db, append(settings, "SKEW="+ahead.String())...)
	g.program, g.args = skewed, nil
	return g
}

// TestClocksApart runs two replicas whose clocks are ten minutes apart against
// a receiver that refuses each event twice.
func TestClocksApart(t *testing.T) {
	beside(t, false)
	db := postgres(t)
	r := table.New(t, db.named("10 clocks of two replicas 10 minutes apart"))
	receiver := newReceiver(t, refuseTwice)
	right, ahead := newGateway(t, db), newSkewed(t, db, 10*time.Minute)
	keys := right.newShops(4, receiver)
	right.start()
	ahead.start()
	l := newLoad(keys, 20*time.Millisecond, right, ahead)
	stop := l.start(6)
	time.Sleep(table.Sized(20*time.Second, 3*time.Second))
	stop()
	creations, completions := l.acknowledged()
	r.Didf("%d creations and %d completions over both, each event refused twice", creations, completions)
	audit(t, r, db, l.account, receiver)
	onTime(r, receiver, table.HangLimit)
}

func refuseTwice(before int) answer {
	if before < 2 {
		return refuse
	}
	return accept
}

// TestClocksWrong runs two replicas, one two minutes behind and one as much ahead.
// Each session is created on one of them, completed on the other, and looked up on
// the first.
func TestClocksWrong(t *testing.T) {
	beside(t, false)
	const wrong, dailyCap = 2 * time.Minute, 200
	db := postgres(t)
	r := table.New(t, db.named("19 clocks of two replicas 2 minutes behind and ahead"))
	receiver := newReceiver(t, refuseTwice)
	behind, ahead := newSkewed(t, db, -wrong), newSkewed(t, db, wrong)
	keys := behind.newShops(4, receiver)
	fetches := behind.followList()
	behind.start()
	ahead.start()
	there := newLoad(keys, 20*time.Millisecond, behind)
	back := &load{client: there.client, account: there.account, gateways: []string{ahead.url}, pages: behind.url,
		keys: keys, pause: there.pause}
	there.pages = ahead.url
	stopThere, stopBack := there.start(3), back.start(3)
	time.Sleep(table.Sized(20*time.Second, 3*time.Second))
	stopThere()
	stopBack()
	creations, completions := there.acknowledged()
	r.Didf("%d creations and %d completions, each on another replica; each event refused twice", creations, completions)
	audit(t, r, db, there.account, receiver)
	onTime(r, receiver, wrong*3/4)

	gatewaytest.WaitFor(t, "the list of issuers is applied", func() bool {
		return db.count(t, "SELECT count(*) FROM listed_issuers") == 1
	})
	r.Mark("times that a published list was fetched", "1", fmt.Sprint(fetches.Load()), fetches.Load() == 1)
	for _, g := range []*gateway{behind, ahead} {
		life := there.tokenLife(t, g.url, keys[0])
		r.Mark("life of a redirect token by a right clock", "8m to 12m", life.Round(time.Second).String(),
			(life-10*time.Minute).Abs() < wrong+30*time.Second)
	}
	for _, g := range []*gateway{behind, ahead} {
		g.kill()
		g.env = append(g.env, fmt.Sprint("AGEGATE_TEST_DAILY_CAP=", dailyCap))
		g.start()
	}
	made := there.createPast(dailyCap, behind.newShop(""), behind.url, ahead.url)
	const used = "FROM usage_counters WHERE tenant_id = (SELECT id FROM tenants ORDER BY created_at DESC LIMIT 1)"
	most, all := db.count(t, "SELECT max(used) "+used), db.count(t, "SELECT sum(used) "+used) // two days at midnight
	r.Mark("most creations of a day", fmt.Sprint(dailyCap), fmt.Sprint(most), most == dailyCap)
	r.Mark("creations beyond those counted", "0", fmt.Sprint(made-all), made == all)
}

// onTime marks when the receiver's requests came, and whether their time stamps are
// off by more than a limit.
func onTime(r *table.Row, receiver *receiver, limit time.Duration) {
	var early, stale []string
	for id, posts := range receiver.byEvent() {
		early = append(early, tooEarly(posts)...)
		for _, p := range posts {
			if off := p.at.Sub(time.Unix(p.stamp, 0)).Abs(); off > limit {
				stale = append(stale, fmt.Sprintf("event %s: stamped %s off", id, off))
			}
		}
	}
	r.None("requests early or double", early)
	r.None("requests stamped with a wrong clock", stale)
}

// followList publishes a list with one issuer and lets gateways follow it. It returns
// how often the list was fetched.
func (g *gateway) followList() *atomic.Int64 {
	g.t.Helper()
	publisher, issuer := trustlisttest.NewPublisher("Publisher"), trustlisttest.NewPublisher("Issuer")
	now := time.Now().UTC()
	list := publisher.SignXML(trustlisttest.XML{
		Sequence: 1, Issued: now, Next: now.AddDate(0, 0, 1),
		Services: []trustlisttest.Service{{Provider: "Issuer", Certificate: issuer.Certificate}},
	})
	var fetches atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetches.Add(1)
		_, _ = w.Write(list)
	}))
	g.t.Cleanup(server.Close)
	signer := filepath.Join(g.t.TempDir(), "signer.pem")
	if err := os.WriteFile(signer, publisher.PEM(), 0o600); err != nil {
		g.t.Fatal(err)
	}
	cmd := exec.Command(binary, "trust", "source", "add", "--name", "Publisher", "--url", server.URL, "--signer", signer)
	cmd.Env = g.env
	if out, err := cmd.CombinedOutput(); err != nil {
		g.t.Fatalf("trust source add: %v\n%s", err, out)
	}
	return &fetches
}

// tokenLife passes a session and returns how long its redirect's token is valid by
// this machine's clock.
func (l *load) tokenLife(t *testing.T, gateway, key string) time.Duration {
	t.Helper()
	s, _, ok := l.insistOnCreate(t.Context(), gateway, key)
	if !ok {
		t.Fatal("no session")
	}
	res, err := l.http.Get(gateway + s.path + "?force=verified")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	to, err := url.Parse(res.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	expires, _, _ := strings.Cut(to.Query().Get("token"), ".")
	seconds, err := strconv.ParseInt(expires, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", res.Status, err)
	}
	return time.Until(time.Unix(seconds, 0))
}

// createPast tries twice as many creations as a cap allows, over all gateways at the
// same time, and returns how many were made.
func (l *load) createPast(limit int, key string, gateways ...string) int {
	var made atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 2 * limit / 8 {
				if _, _, ok := l.create(gateways[i%len(gateways)], key, rand.Text()); ok {
					made.Add(1)
				}
			}
		})
	}
	all.Wait()
	return int(made.Load())
}
