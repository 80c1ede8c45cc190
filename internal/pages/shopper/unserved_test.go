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
)

// faulty is a script that fails on the server's side at the second frame.
type faulty struct {
	script
	trouble func(ctx context.Context) (age.Step, error)
}

func (s *faulty) Add(ctx context.Context, f age.Frame) (age.Step, error) {
	if f.Seq == 0 {
		return s.script.Add(ctx, f)
	}
	return s.trouble(ctx)
}

// TestTheServersTroubleCostsNoAttempt: an attempt that the server did not serve
// to its end does not count, not even the last one; an attempt that the shopper
// ends does.
func TestTheServersTroubleCostsNoAttempt(t *testing.T) {
	t.Parallel()
	waits := func(ctx context.Context) (age.Step, error) {
		<-ctx.Done()
		return age.Step{}, ctx.Err()
	}
	unserved := unfinished(age.ReasonUnserved)
	answersLate := func(ctx context.Context) (age.Step, error) {
		<-ctx.Done()
		time.Sleep(2 * closeTime) // the connection is closed meanwhile
		return age.Step{}, nil
	}
	goesAway := func(f *fixture, _ *camera) {
		synctest.Wait() // the frame is being processed
		ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
		defer cancel()
		must(f.t, f.pages.Close(ctx))
	}
	rows := []struct {
		name    string
		trouble func(ctx context.Context) (age.Step, error)
		during  func(f *fixture, c *camera) // what happens while the frame is processed
		code    websocket.StatusCode
		charged int
	}{
		{"too slow", waits, func(f *fixture, _ *camera) {}, websocket.StatusTryAgainLater, 0},
		{"failed", func(context.Context) (age.Step, error) { return age.Step{}, errors.New("no model") }, nil,
			websocket.StatusTryAgainLater, 0},
		{"going away", waits, goesAway, websocket.StatusGoingAway, 0},
		{"gone before the answer was sent", answersLate, goesAway, websocket.StatusGoingAway, 0},
		{"movement missed because frames waited", func(context.Context) (age.Step, error) { return unserved, nil }, nil,
			closeReload, 0},
		{"movement missed", func(context.Context) (age.Step, error) { return verdict(age.VerdictNoCapture, 0), nil }, nil,
			closeReload, 1},
		{"not live", func(context.Context) (age.Step, error) { return verdict(age.VerdictSpoof, 0), nil }, nil, closeReload,
			1},
		{"a message no page sends", func(context.Context) (age.Step, error) { return age.Step{}, age.ErrFrameOrder }, nil,
			websocket.StatusPolicyViolation, 1},
	}
	for _, row := range rows {
		for _, before := range []int{0, session.MaxAttempts - 1} {
			t.Run(row.name, func(t *testing.T) {
				inOwnTime(t, func(t testing.TB) {
					f := newFixture(t, tenant.Tenant{}, func(session.Session, bool) Capture {
						return &faulty{script{steps: []age.Step{stepBegun}}, row.trouble}
					})
					shopper := f.browser()
					link := f.session(true)
					shopper.post(link+"/start", nil)
					f.attempts(link, before)
					c := shopper.opened(link)
					c.send(frame(scriptNonce, 0))
					c.read()
					if got := f.stored(link).Attempts; got != before+1 {
						t.Fatalf("%d attempts while the challenge runs, want %d", got, before+1)
					}
					c.send(frame(scriptNonce, 1))
					ended := make(chan struct{})
					go func() {
						defer close(ended)
						if row.during != nil {
							row.during(f, c)
						}
					}()
					c.endsWith(row.code)
					<-ended
					f.fills(0)
					s := f.stored(link)
					if s.Attempts != before+row.charged {
						t.Errorf("%d attempts counted, want %d", s.Attempts, before+row.charged)
					}
					if open := s.Status == session.StatusPending; open != (s.AttemptsLeft() > 0) {
						t.Errorf("%s with %d attempts left", s.Status, s.AttemptsLeft())
					}
				})
			})
		}
	}
}

// endsWith fails unless the server ends the connection with the code, after any
// other messages.
func (c *camera) endsWith(code websocket.StatusCode) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	for {
		if _, _, err := c.conn.Read(ctx); err != nil {
			if websocket.CloseStatus(err) != code {
				c.t.Errorf("%v; want close code %d", err, code)
			}
			return
		}
	}
}
