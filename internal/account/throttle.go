package account

import (
	"context"
	"time"

	"agegate/internal/fault"
)

// Limits on guessing. They hold for one bucket, in which all unknown browsers of
// an account meet; a browser that signed in before has one of its own, so that
// nobody can lock others out.
const (
	freeFailures  = 10
	longestWait   = 15 * time.Minute
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

// bucket returns what failures of a browser for an address are counted under.
// Addresses are not stored: also unknown ones are counted.
func (s *Service) bucket(email string, user User, device string) []byte {
	if user.Email != "" && s.knownDevice(device, user.ID) {
		return s.sealer.MAC("device " + device)
	}
	return s.sealer.MAC("account " + email)
}

// attempt counts a failure in advance, so that attempts at the same time count
// too. It returns a *ThrottleError if there were too many, and then leaves nothing
// behind; whoever succeeds drops the bucket.
func (s *Service) attempt(ctx context.Context, bucket []byte) error {
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
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
		if err := s.takeCheck(tx, now); err != nil {
			return err
		}
		t.Failures++
		t.Until = now.Add(delay(t.Failures))
		return tx.PutThrottle(t, now)
	})
}

// takeCheck takes one of the checks that the instance makes in a second, or
// returns a *ThrottleError.
func (s *Service) takeCheck(tx Tx, now time.Time) error {
	t, err := tx.LockThrottle(s.sealer.MAC("instance"), now)
	if err != nil {
		return err
	}
	if !now.Before(t.Until) {
		t.Failures, t.Until = 0, now.Add(time.Second)
	}
	if t.Failures >= checksASecond {
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
