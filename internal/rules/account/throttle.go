package account

import (
	"context"
	"time"

	"agegate/internal/rules/fault"
)

// Limits on guessing. A browser that signed in before has its own bucket; all
// others share one per account and one per network, so that nobody can lock others
// out.
const (
	freeFailures  = 10
	longestWait   = 15 * time.Minute
	networkChecks = 100 // in networkWindow: an office signs in, a list of stolen passwords does not
	networkWindow = 15 * time.Minute
	checksASecond = 20 // of the whole instance: they share the cores with the estimates
)

// ThrottleError refuses an attempt that comes too early. It says nothing about
// whether the user exists.
type ThrottleError struct {
	Wait time.Duration // until the next attempt
}

// Error says nothing about the account.
func (e *ThrottleError) Error() string { return "too many attempts" }

// Unwrap makes the error a fault.
func (e *ThrottleError) Unwrap() error { return errTooMany }

var errTooMany = fault.New(fault.TooMany, "Too many attempts")

// attempt counts a failure in advance, so that attempts at the same time count
// too. It returns the bucket, which whoever succeeds drops, or a *ThrottleError if
// there were too many, and then leaves nothing behind.
func (s *Service) attempt(ctx context.Context, email string, user User, b Browser) (bucket []byte, err error) {
	known := user.Email != "" && s.knownDevice(b.Device, user.ID)
	// E-mail addresses are not stored: those of unknown users are counted too.
	bucket = s.sealer.MAC("account " + email)
	if known {
		bucket = s.sealer.MAC("device " + b.Device)
	}
	return bucket, s.store.UpdateAccounts(ctx, func(tx Tx) error {
		now := s.now()
		t, err := tx.LockThrottle(bucket, now)
		if err != nil {
			return err
		}
		// Another request, or another replica's clock, may have set Until a moment
		// after this one's now: without a delay it means nothing.
		if wait := t.Until.Sub(now); wait > 0 && delay(t.Failures) > 0 {
			return &ThrottleError{wait}
		}
		if b.Network.IsValid() && !known {
			if err := s.takeCheck(tx, now, "network "+b.Network.String(), networkChecks, networkWindow); err != nil {
				return err
			}
		}
		if err := s.takeCheck(tx, now, "instance", checksASecond, time.Second); err != nil {
			return err
		}
		t.Failures++
		t.Until = now.Add(delay(t.Failures))
		return tx.PutThrottle(t, now)
	})
}

// takeCheck takes one of the checks that a bucket allows in a window of time, or
// returns a *ThrottleError. The window begins with its first check.
func (s *Service) takeCheck(tx Tx, now time.Time, bucket string, most int, window time.Duration) error {
	t, err := tx.LockThrottle(s.sealer.MAC(bucket), now)
	if err != nil {
		return err
	}
	if !now.Before(t.Until) {
		t.Failures, t.Until = 0, now.Add(window)
	}
	if t.Failures >= most {
		return &ThrottleError{t.Until.Sub(now)}
	}
	t.Failures++
	return tx.PutThrottle(t, now)
}

// delay is how long the attempt after so many failures has to wait.
func delay(failures int) time.Duration {
	if failures < freeFailures {
		return 0
	}
	return min(longestWait, time.Second<<min(failures-freeFailures, 20))
}
