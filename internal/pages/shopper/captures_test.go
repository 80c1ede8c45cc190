package shopper

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// A client that sends nothing, not even the answer to the server's close, loses
// its place.
func TestASilentClientLosesItsPlace(t *testing.T) {
	inOwnTime(t, func(t testing.TB) {
		f := newFixture(t, tenant.Tenant{}, scripted(stepFraming))
		_, c := f.begun(f.browser())
		c.send(frame(scriptNonce, 0))
		c.read()
		time.Sleep(streamBudget.idle + closeTime)
		f.fills(0)
	})
}

// fills fails unless n places are taken once everything waits. Whatever the streams
// have found is then written.
func (f *fixture) fills(n int) {
	f.t.Helper()
	synctest.Wait()
	if taken := len(f.pages.captures.checks); taken != n {
		f.t.Fatalf("%d places are taken, want %d", taken, n)
	}
}

func TestASecondTabTakesOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepFraming, stepFraming))
	f.pages.captures.limit = 1 // the first one's place passes to the second
	shopper := f.browser()
	link, first := f.begun(shopper)
	second := shopper.opened(link)
	first.closes(closeTakenOver)
	second.send(frame(scriptNonce, 0))
	second.read()
}

// The frame of a tab that was taken over is dropped, whether the models are
// looking at it or it waits for its turn. The close code tells the tab why.
func TestATakeOverCancelsTheOldWork(t *testing.T) {
	t.Parallel()
	old := &stuck{begun: make(chan struct{}), ended: make(chan error, 1)}
	checks := []Capture{old, &script{steps: []age.Step{stepFraming}}}
	f := newFixture(t, tenant.Tenant{}, func(session.Session, bool) Capture {
		next := checks[0]
		checks = checks[1:]
		return next
	})
	shopper := f.browser()
	link, first := f.begun(shopper)
	first.send(frame(scriptNonce, 0))
	<-old.begun
	second := shopper.opened(link)
	if err := <-old.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the old work ended with %v", err)
	}
	first.closes(closeTakenOver)
	second.send(frame(scriptNonce, 0))
	second.read()
}

// stuck is a check that waits for its turn until its context ends.
type stuck struct {
	script
	begun chan struct{}
	ended chan error
}

func (s *stuck) Add(ctx context.Context, _ age.Frame) (age.Step, error) {
	close(s.begun)
	<-ctx.Done()
	s.ended <- ctx.Err()
	return age.Step{}, ctx.Err()
}

func TestACheckIsNotTakenOverAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepFraming))
	f.pages.captures.tenure = time.Hour
	shopper := f.browser()
	link, first := f.begun(shopper)
	shopper.camera(link).closes(websocket.StatusTryAgainLater)
	first.send(frame(scriptNonce, 0))
	first.read()
}

func TestPlacesForChecksAreBounded(t *testing.T) {
	inOwnTime(t, func(t testing.TB) {
		f := newFixture(t, tenant.Tenant{}, scripted(stepFraming))
		f.pages.captures.limit = 1
		_, first := f.begun(f.browser())
		waiting := f.browser()
		link := f.session(true)
		waiting.post(link+"/start", nil)
		waiting.camera(link).closes(websocket.StatusTryAgainLater)
		must(t, first.conn.Close(websocket.StatusNormalClosure, ""))
		f.fills(0)
		waiting.camera(link).read()
	})
}

func TestATenantLeavesPlacesToOthers(t *testing.T) {
	t.Parallel()
	c := newCaptures(8, func() int { return 8 })
	enters := func(tenantID uuid.UUID) bool {
		_, ok := c.enter(session.Session{ID: uuid.New(), TenantID: tenantID}, &link{}, func(error) {})
		return ok
	}
	crowded, other := uuid.New(), uuid.New()
	for n := range 6 {
		if !enters(crowded) {
			t.Fatalf("the crowd's visitor %d was turned away", n)
		}
	}
	if enters(crowded) {
		t.Error("one tenant got more than three quarters of the places")
	}
	for range 2 {
		if !enters(other) {
			t.Error("the crowd left no place to another tenant")
		}
	}
	if enters(other) {
		t.Error("more checks than places")
	}
}

// Closing drops frames that wait for their turn.
func TestCloseCancelsWaitingWork(t *testing.T) {
	t.Parallel()
	old := &stuck{begun: make(chan struct{}), ended: make(chan error, 1)}
	f := newFixture(t, tenant.Tenant{}, func(session.Session, bool) Capture { return old })
	_, c := f.begun(f.browser())
	c.send(frame(scriptNonce, 0))
	<-old.begun
	closed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		closed <- f.pages.Close(ctx)
	}()
	if err := <-old.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the work ended with %v", err)
	}
	c.closes(websocket.StatusGoingAway)
	must(t, <-closed)
}

func TestCloseEndsTheChecks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepFraming))
	shopper := f.browser()
	link, c := f.begun(shopper)
	closed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		closed <- f.pages.Close(ctx)
	}()
	c.closes(websocket.StatusGoingAway)
	must(t, <-closed)
	shopper.camera(link).closes(websocket.StatusTryAgainLater)
}

// A process that drains lets those in front of the camera end, sends those in line
// away, and takes nobody else.
func TestDrain(t *testing.T) {
	t.Parallel()
	f := crowded(t, 1, scripted(stepBegun, verdict(age.VerdictMet, 40)))
	link, first := f.begun(f.browser())
	_, _, waiting := f.comes()
	hears(t, `{"place":1}`, waiting)
	drained := make(chan error, 1)
	go func() { drained <- f.pages.Drain(t.Context()) }()
	waiting.closes(websocket.StatusGoingAway)
	_, _, late := f.comes()
	late.closes(websocket.StatusTryAgainLater)
	select {
	case err := <-drained:
		t.Fatalf("drained with a check that runs: %v", err)
	default:
	}
	first.send(frame(scriptNonce, 0))
	first.read()
	first.send(frame(scriptNonce, 1))
	hears(t, `"next":`, first)
	must(t, <-drained)
	if s := f.stored(link); s.Status != session.StatusPassed {
		t.Errorf("the check ended as %s", s.Status)
	}
}

func TestDrainEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepFraming))
	f.begun(f.browser())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.pages.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Drain = %v", err)
	}
}
