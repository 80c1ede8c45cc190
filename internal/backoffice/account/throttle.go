package account

import (
	"context"
	"time"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// Limits on guessing. A browser that has signed in before has its own bucket, so nobody else can lock it out. All
// other browsers share a bucket for each account, one for each network, and the checks of the instance.
const (
	freeFailures  = 10
	longestWait   = 15 * time.Minute
	networkChecks = 100 // in networkWindow: enough for an office to sign in, too few for a list of stolen passwords
	networkWindow = 15 * time.Minute
	checksASecond = 20 // for the whole instance, by unknown browsers: checks share the cores with the estimates
	ownChecks     = 30 // of a user in browsers that have signed in before, in ownWindow
	ownWindow     = time.Minute
	linkChecks    = 10 // of a link, in linkWindow
	tenantChecks  = 60 // of all invitations of a tenant, in linkWindow
	linkWindow    = 15 * time.Minute
)

// ThrottleError refuses an attempt that comes too early. It does not reveal whether the user exists.
type ThrottleError struct {
	Wait time.Duration // until the next attempt
}

// Error reveals nothing about the account.
func (e *ThrottleError) Error() string { return "too many attempts" }

// Unwrap makes the error a fault.
func (e *ThrottleError) Unwrap() error { return errTooMany }

var errTooMany = fault.New(fault.TooMany, "Too many attempts")

// attempt counts a failed log-in by password before the password is checked, so that simultaneous attempts count too.
// It returns the bucket, which is cleared after a success, and the party for which the password is checked. If there
// were too many failures, it returns a *ThrottleError and changes nothing.
func (s *Service) attempt(
	ctx context.Context, email string, user User, b Browser,
) (bucket []byte, by party, err error) {
	// E-mail addresses are not stored, because unknown users are counted too.
	bucket, by = s.sealer.MAC("account "+email), strangers
	if own := s.ownBucket(user.ID, b); user.Email != "" && own != nil {
		bucket, by = own, party(user.ID)
	}
	return bucket, by, s.count(ctx, bucket, func(tx Tx, now time.Time) error {
		if by == strangers {
			return s.takeShared(tx, now, b)
		}
		return s.takeCheck(tx, now, "user "+user.ID.String(), ownChecks, ownWindow)
	})
}

// count counts a failure in a bucket before the check is made, and runs take in the same transaction. It returns
// take's error. If the bucket has to wait, it counts nothing and returns a *ThrottleError.
func (s *Service) count(ctx context.Context, bucket []byte, take func(tx Tx, now time.Time) error) error {
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		now := s.now()
		t, err := tx.LockThrottle(bucket, now)
		if err != nil {
			return err
		}
		if err := tooEarly(t, now); err != nil {
			return err
		}
		if err := take(tx, now); err != nil {
			return err
		}
		t.Failures++
		t.Until = now.Add(delay(t.Failures))
		return tx.PutThrottle(t, now)
	})
}

// attemptPasskey is attempt for a passkey. It uses up the challenge, so each challenge allows one try. Passkeys
// cannot be guessed, so only their own failures count.
func (s *Service) attemptPasskey(ctx context.Context, used usedPasskey, b Browser) (bucket []byte, err error) {
	bucket = s.sealer.MAC("passkey " + string(used.key.CredentialID))
	if own := s.ownBucket(used.key.UserID, b); own != nil {
		bucket = own
	}
	return bucket, s.count(ctx, bucket, func(tx Tx, _ time.Time) error {
		if first, err := used.ticket.use(tx, used.challenge); err != nil || !first {
			return orElse(err, ErrPasskey)
		}
		return nil
	})
}

// attemptLink counts a use of a link that creates or changes a user, before anything is looked up. If there were too
// many uses, it returns a *ThrottleError. Otherwise it returns the party in whose turn the password is hashed: the
// link's tenant, or strangers if the link has none.
func (s *Service) attemptLink(ctx context.Context, link Link) (party, error) {
	by := strangers
	if link.TenantID != nil {
		by = party(*link.TenantID)
	}
	return by, s.store.UpdateAccounts(ctx, func(tx Tx) error {
		now := s.now()
		if err := s.takeCheck(tx, now, "link "+string(link.Hash), linkChecks, linkWindow); err != nil ||
			link.TenantID == nil {
			return err
		}
		return s.takeCheck(tx, now, "links of "+link.TenantID.String(), tenantChecks, linkWindow)
	})
}

// ownBucket returns the bucket of a browser in which the user has signed in before, or nil. It depends on the decoded
// bytes of the cookie, so that different spellings do not get different buckets.
func (s *Service) ownBucket(userID uuid.UUID, b Browser) []byte {
	if !s.knownDevice(b.Device, userID) {
		return nil
	}
	return s.sealer.MAC("device " + string(decode(b.Device)))
}

// tooEarly returns a *ThrottleError if a bucket has to wait. A bucket without a delay never has to wait, even if its
// Until is slightly after now, which another request or the clock of another replica can cause.
func tooEarly(t Throttle, now time.Time) error {
	if wait := t.Until.Sub(now); wait > 0 && delay(t.Failures) > 0 {
		return &ThrottleError{wait}
	}
	return nil
}

// takeShared takes one of the checks that all unknown browsers share.
func (s *Service) takeShared(tx Tx, now time.Time, b Browser) error {
	if b.Network.IsValid() {
		if err := s.takeCheck(tx, now, "network "+b.Network.String(), networkChecks, networkWindow); err != nil {
			return err
		}
	}
	return s.takeCheck(tx, now, "instance", checksASecond, time.Second)
}

// takeCheck takes one of the checks that a bucket allows in a time window, or
// returns a *ThrottleError. The window begins with its first check.
func (s *Service) takeCheck(tx Tx, now time.Time, bucket string, limit int, window time.Duration) error {
	t, err := tx.LockThrottle(s.sealer.MAC(bucket), now)
	if err != nil {
		return err
	}
	if !now.Before(t.Until) {
		t.Failures, t.Until = 0, now.Add(window)
	}
	if t.Failures >= limit {
		return &ThrottleError{t.Until.Sub(now)}
	}
	t.Failures++
	return tx.PutThrottle(t, now)
}

// delay is how long the next attempt has to wait after a number of failures.
func delay(failures int) time.Duration {
	if failures < freeFailures {
		return 0
	}
	return min(longestWait, time.Second<<min(failures-freeFailures, 20))
}
