package shopper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// crowded returns a fixture with the given number of places.
func crowded(t testing.TB, places int, capture func(session.Session, bool) Capture) *fixture {
	f := newFixture(t, tenant.Tenant{}, capture)
	f.pages.captures.places = func() int { return places }
	f.pages.budget.beat = time.Hour // so that only changes are sent
	return f
}

// comes opens the camera of a new session.
func (f *fixture) comes() (shopper *browser, link string, c *camera) {
	f.t.Helper()
	shopper, link = f.browser(), f.session(true)
	shopper.post(link+"/start", nil)
	return shopper, link, shopper.camera(link)
}

// hears fails unless the next message of each camera contains the text.
func hears(t testing.TB, want string, cameras ...*camera) {
	t.Helper()
	for n, c := range cameras {
		if got := c.read(); !strings.Contains(got, want) {
			t.Errorf("camera %d heard %s, want %s", n, got, want)
		}
	}
}

func TestTheLineMoves(t *testing.T) {
	t.Parallel()
	f := crowded(t, 1, scripted(stepFraming))
	_, first := f.begun(f.browser())
	_, second, a := f.comes()
	hears(t, `{"place":1}`, a)
	_, _, b := f.comes()
	hears(t, `{"place":2}`, b)
	a.send(frame(scriptNonce, 0)) // nobody accepts it, so nothing begins
	first.conn.CloseNow()
	hears(t, `{"nonce":`, a)
	hears(t, `{"place":1}`, b)
	a.send(frame(scriptNonce, 1))
	hears(t, `"phase":"framing"`, a)
	if s := f.stored(second); s.Attempts != 0 {
		t.Errorf("%d attempts after the line", s.Attempts)
	}
	a.conn.CloseNow()
	hears(t, `{"nonce":`, b)
}

// A page that lost its connection, or that is opened repeatedly, keeps its place
// in line. Those after it move up if it does not return.
func TestALostConnectionKeepsItsTurn(t *testing.T) {
	inOwnTime(t, func(t testing.TB) {
		f := crowded(t, 1, scripted(stepFraming))
		f.pages.captures.grace = time.Hour
		_, first := f.begun(f.browser())
		early, link, a := f.comes()
		hears(t, `{"place":1}`, a)
		time.Sleep(time.Millisecond)
		_, _, b := f.comes()
		hears(t, `{"place":2}`, b)
		for range 3 {
			a.conn.CloseNow()
			synctest.Wait()
			if f.connected(link) != 0 {
				t.Error("the loss is not noticed")
			}
			a = early.camera(link)
			hears(t, `{"place":1}`, a)
		}
		again := early.camera(link)
		hears(t, `{"place":1}`, again)
		a.closes(closeTakenOver)
		f.pages.captures.grace = 0
		again.conn.CloseNow()
		hears(t, `{"place":1}`, b)
		first.conn.CloseNow()
		hears(t, `{"nonce":`, b)
	})
}

// connected counts the connections of a session's check.
func (f *fixture) connected(link string) int {
	id := f.stored(link).ID
	f.pages.captures.mu.Lock()
	defer f.pages.captures.mu.Unlock()
	if k := f.pages.captures.checks[id]; k == nil || k.link == nil {
		return 0
	}
	return 1
}

// A check whose connection is lost frees its place at once, and is the first to
// get one when it returns.
func TestALostPlaceIsFree(t *testing.T) {
	t.Parallel()
	f := crowded(t, 1, scripted(stepFraming))
	f.pages.captures.grace = time.Hour
	shopper := f.browser()
	link, first := f.begun(shopper)
	_, _, a := f.comes()
	hears(t, `{"place":1}`, a)
	_, _, b := f.comes()
	hears(t, `{"place":2}`, b)
	first.conn.CloseNow()
	hears(t, `{"nonce":`, a)
	first = shopper.camera(link)
	hears(t, `{"place":1}`, first)
	a.conn.CloseNow()
	hears(t, `{"nonce":`, first)
}

func TestTheSessionExpiresInLine(t *testing.T) {
	inOwnTime(t, func(t testing.TB) {
		f := crowded(t, 1, scripted(stepFraming))
		f.begun(f.browser())
		shopper, link := f.browser(), f.session(true)
		shopper.post(link+"/start", nil)
		f.advance(30*time.Minute - 50*time.Millisecond)
		c := shopper.camera(link)
		c.endsWith(closeReload)
	})
}

// A waiting page that does not even answer a ping loses its turn.
func TestASilentPageLosesItsTurn(t *testing.T) {
	inOwnTime(t, func(t testing.TB) {
		f := crowded(t, 1, scripted(stepFraming))
		f.begun(f.browser())
		f.pages.budget.beat, f.pages.budget.idle = time.Second, 2*time.Second
		f.pages.captures.grace = time.Hour // the grace applies only to lost connections
		f.comes()                          // reads nothing
		f.fills(2)
		time.Sleep(4 * time.Second)
		f.fills(1)
	})
}

// When frames take less time than before, the next one moves the line, although
// nobody leaves.
func TestTheLineMovesWithTheMachine(t *testing.T) {
	t.Parallel()
	f := crowded(t, 1, scripted(stepFraming))
	places := make(chan int, 1)
	places <- 1
	f.pages.captures.places = func() int {
		n := <-places
		places <- n
		return n
	}
	_, first := f.begun(f.browser())
	_, _, a := f.comes()
	hears(t, `{"place":1}`, a)
	<-places
	places <- 2
	first.send(frame(scriptNonce, 1))
	hears(t, `{"nonce":`, a)
}

// Frames beyond the credit are dropped; accepted frames are answered in order.
func TestFramesBeyondTheCreditAreDropped(t *testing.T) {
	t.Parallel()
	busy := &gated{script: script{steps: slices.Repeat([]age.Step{stepFraming}, maxCredit+1)}, open: make(chan struct{})}
	f := newFixture(t, tenant.Tenant{}, func(session.Session, bool) Capture { return busy })
	f.pages.budget.gap = 0
	_, c := f.begun(f.browser())
	answers := make(chan string, 64)
	go func() {
		for {
			_, message, err := c.conn.Read(context.Background())
			if err != nil {
				close(answers)
				return
			}
			answers <- string(message)
		}
	}()
	const sent = 40
	for seq := range uint32(sent) {
		c.send(frame(scriptNonce, seq))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, c.conn.Ping(ctx)) // the server has read everything before this
	close(busy.open)
	for _, seq := range []int{0, 1, 2, 3, sent} {
		if seq == sent {
			c.send(frame(scriptNonce, sent))
		}
		if got := <-answers; !strings.HasPrefix(got, fmt.Sprintf(`{"seq":%d,`, seq)) {
			t.Errorf("%s, want the answer to frame %d", got, seq)
		}
	}
}

// gated processes no frame before it is opened.
type gated struct {
	script
	open chan struct{}
}

func (g *gated) Add(ctx context.Context, f age.Frame) (age.Step, error) {
	<-g.open
	return g.script.Add(ctx, f)
}

func TestCreditFollowsTheRoundTrip(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		trip time.Duration
		want int
	}{{0, 1}, {99 * time.Millisecond, 1}, {100 * time.Millisecond, 2}, {249 * time.Millisecond, 2},
		{250 * time.Millisecond, 3}, {374 * time.Millisecond, 3}, {375 * time.Millisecond, 4}, {time.Minute, 4}} {
		if got := credit(row.trip); got != row.want {
			t.Errorf("%s: %d, want %d", row.trip, got, row.want)
		}
	}
}

// TestLine lets tenants come, leave, lose connections and return in random order,
// with a changing number of places, and checks the rules of the line.
func TestLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.IntRange(1, 12).Draw(t, "places")
		c := newCaptures(60, func() int { return places })
		c.tenure, c.grace = 0, time.Hour
		tenants := []uuid.UUID{{1}, {2}, {3}}
		sessions := map[uuid.UUID]session.Session{}
		var ids []uuid.UUID
		pick := func(t *rapid.T) uuid.UUID {
			if len(ids) == 0 {
				t.Skip("nobody came yet")
			}
			return rapid.SampledFrom(ids).Draw(t, "session")
		}
		before := map[uuid.UUID]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"come": func(t *rapid.T) {
				s := session.Session{ID: uuid.New(), TenantID: rapid.SampledFrom(tenants).Draw(t, "tenant")}
				if _, ok := c.enter(s, broken(), func(error) {}); ok {
					sessions[s.ID], ids = s, append(ids, s.ID)
				}
			},
			"come back": func(t *rapid.T) {
				id := pick(t)
				old := c.checks[id]
				k, ok := c.enter(sessions[id], broken(), func(error) {})
				if ok && old != nil && !k.since.Equal(old.since) {
					t.Fatal("a new connection changed the turn in line")
				}
			},
			"go": func(t *rapid.T) {
				if k := c.checks[pick(t)]; k != nil && k.link != nil {
					c.end(k, closeReload, "")
				}
			},
			"lose": func(t *rapid.T) {
				if k := c.checks[pick(t)]; k != nil && k.link != nil {
					c.lose(k, websocket.StatusNormalClosure, "")
				}
			},
			"faster or slower": func(t *rapid.T) {
				places = rapid.IntRange(1, 12).Draw(t, "places")
				c.review()
			},
			"": func(t *rapid.T) { before = fair(t, c, places, before) },
		})
	})
}

// broken returns a link whose connection is closed, so that closing it is quick.
func broken() *link {
	l := &link{}
	l.closed.Do(func() {})
	return l
}

// fair fails unless the places are assigned by the rules of the line. before
// holds the checks that had one; fair returns those that have one now.
func fair(t *rapid.T, c *captures, places int, before map[uuid.UUID]bool) map[uuid.UUID]bool {
	held, first, placed, lines := map[uuid.UUID]int{}, map[uuid.UUID]*check{}, map[uuid.UUID]bool{}, map[int]bool{}
	for id, k := range c.checks {
		tenant := k.sess.TenantID
		held[tenant] += 0
		switch {
		case k.placed:
			held[tenant]++
			placed[id] = true
		case k.link != nil:
			if lines[k.told] || k.told < 1 {
				t.Fatalf("two are number %d in line", k.told)
			}
			lines[k.told] = true
			if first[tenant] == nil || k.since.Before(first[tenant].since) {
				first[tenant] = k
			}
		}
	}
	share := max(1, places/max(4, len(held)))
	taken, rightful, fresh := 0, 0, 0
	for _, n := range held {
		taken += n
		rightful += min(n, share)
	}
	for id := range placed {
		if !before[id] {
			fresh++
		}
	}
	if fresh > 0 && taken > places && rightful > places {
		t.Fatalf("%d places given out, %d of them within a share, where there are %d", taken, rightful, places)
	}
	for tenant, k := range first {
		if taken < places {
			t.Fatalf("somebody waits while %d of %d places are taken", taken, places)
		}
		if held[tenant] < share && rightful < places {
			t.Fatalf("a tenant with %d places waits for others with more than their share, %d", held[tenant], share)
		}
		for id, other := range c.checks {
			if placed[id] && !before[id] && other.sess.TenantID == tenant && k.since.Before(other.since) {
				t.Fatal("somebody was let in before who waits longer for the same tenant")
			}
			if placed[id] && !before[id] && held[tenant]+1 < held[other.sess.TenantID] {
				t.Fatal("a tenant got a place that has more than one that waits")
			}
		}
	}
	return placed
}
