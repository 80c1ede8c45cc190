package account

import (
	"bytes"
	"cmp"
	"context"
	"net/netip"
	"slices"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

var (
	// ErrWrongLogin is the error for every failed log-in. It does not reveal whether the user exists.
	ErrWrongLogin = fault.New(fault.InvalidKey, "E-mail or password is wrong")
	// ErrWrongCode refuses a code of an authenticator app, or a recovery code, that is wrong or was used before.
	ErrWrongCode = fault.New(fault.InvalidKey, "The code is wrong")
	// ErrStartAgain is returned for a log-in step that comes too late.
	ErrStartAgain = fault.New(fault.Gone, "The log-in took too long")
)

// Browser describes the browser that sent a request.
type Browser struct {
	Login   string       // the cookie of a log-in, or empty
	Device  string       // the cookie of an earlier log-in, or empty
	Network netip.Prefix // network of the request; zero if unknown
}

// Signed is the result of a log-in: either both cookies, or what the second step needs.
type Signed struct {
	Login, Device string
	Second        string // for LogInSecond
}

// LogIn checks a password. If the user has an authenticator app, LogInSecond must follow. It returns ErrWrongLogin,
// which takes equally long for known and unknown users, or a *ThrottleError.
func (s *Service) LogIn(ctx context.Context, email, password string, b Browser) (Signed, error) {
	email = normalEmail(email)
	user, err := s.known(ctx, email)
	if err != nil {
		return Signed{}, err
	}
	bucket, by, err := s.attempt(ctx, email, user, b)
	if err != nil {
		return Signed{}, err
	}
	matches, err := s.hasher.matches(ctx, by, user.Password, password)
	if err != nil {
		return Signed{}, err
	}
	if !matches || user.DisabledAt != nil {
		return Signed{}, ErrWrongLogin
	}
	return s.logInAs(ctx, user, bucket, b, func(Tx) ([]audit.Act, error) { return nil, nil })
}

// logInAs signs in the user whose password was right, or returns what the second step needs. more runs in the same
// transaction as the log-in, before the user is locked.
func (s *Service) logInAs(
	ctx context.Context, user User, bucket []byte, b Browser, more func(tx Tx) ([]audit.Act, error),
) (Signed, error) {
	if user.TOTP != nil {
		second, err := s.seal(forSecond, user.ID, ceremonyTTL, credential.HashToken(user.Password))
		return Signed{Second: encode(second)}, err
	}
	return s.signIn(ctx, user.ID, b, func(tx Tx) (proof, error) {
		acts, err := more(tx)
		if err != nil {
			return proof{}, err
		}
		if now, err := tx.LockUser(user.ID); err != nil || now.DisabledAt != nil || now.Password != user.Password {
			return proof{}, orElse(err, ErrWrongLogin)
		}
		return proof{methods: []Method{ByPassword}, acts: acts}, tx.DropThrottle(bucket)
	})
}

// LogInSecond is the step after LogIn: second is the value returned by LogIn, and code is from the authenticator app
// or a recovery code. It returns ErrWrongCode, ErrStartAgain or a *ThrottleError.
func (s *Service) LogInSecond(ctx context.Context, second, code string, b Browser) (Signed, error) {
	t, ok := s.open(forSecond, decode(second))
	if !ok {
		return Signed{}, ErrStartAgain
	}
	user, err := s.store.UserByID(ctx, t.userID)
	if err != nil {
		return Signed{}, err
	}
	if user.DisabledAt != nil || user.TOTP == nil {
		return Signed{}, ErrStartAgain
	}
	bucket, _, err := s.attempt(ctx, user.Email, user, b)
	if err != nil {
		return Signed{}, err
	}
	return s.signIn(ctx, user.ID, b, func(tx Tx) (proof, error) {
		user, err := tx.LockUser(user.ID)
		if err != nil || user.DisabledAt != nil || user.TOTP == nil ||
			!bytes.Equal(credential.HashToken(user.Password), t.data) {
			return proof{}, orElse(err, ErrStartAgain)
		}
		method, err := s.useCode(tx, user, code)
		if err != nil {
			return proof{}, err
		}
		if first, err := t.use(tx, decode(second)); err != nil || !first {
			return proof{}, orElse(err, ErrStartAgain)
		}
		return proof{methods: []Method{ByPassword, method}}, tx.DropThrottle(bucket)
	})
}

// LogInByPasskey signs in the user whose passkey made the response to
// LogInOptions. It returns ErrPasskey or a *ThrottleError.
func (s *Service) LogInByPasskey(ctx context.Context, response string, b Browser) (Signed, error) {
	used, err := s.checkPasskey(ctx, forLoggingIn, uuid.Nil, response, b)
	if err != nil {
		return Signed{}, err
	}
	user, err := s.store.UserByID(ctx, used.key.UserID)
	if err != nil {
		return Signed{}, err
	}
	if user.DisabledAt != nil {
		return Signed{}, ErrPasskey
	}
	return s.signIn(ctx, user.ID, b, func(tx Tx) (proof, error) {
		if now, err := tx.LockUser(user.ID); err != nil || now.DisabledAt != nil {
			return proof{}, orElse(err, ErrPasskey)
		}
		return proof{methods: []Method{ByPasskey}}, used.use(tx, s.now())
	})
}

// proof is how a user proved their identity, with the log entries that this caused.
type proof struct {
	methods []Method
	acts    []audit.Act
	edit    func(*Login) // further changes of the log-in; may be nil
}

// signIn creates a log-in and ends the browser's previous one. prove runs in the same transaction. For a stored user,
// it locks the user and checks that what was proved before still holds: a change of factors ends all log-ins, so no
// log-in with the old factors may begin after it. signIn returns ErrProviderNeeded if the instance requires log-in by
// its provider.
func (s *Service) signIn(
	ctx context.Context, userID uuid.UUID, b Browser, prove func(tx Tx) (proof, error),
) (Signed, error) {
	signed, login, err := s.newLogin(userID, b)
	if err != nil {
		return Signed{}, err
	}
	return signed, s.store.UpdateAccounts(ctx, func(tx Tx) error {
		proved, err := prove(tx)
		if err != nil {
			return err
		}
		login.Methods = proved.methods
		if proved.edit != nil {
			proved.edit(&login)
		}
		if s.instance.Required {
			if user, err := tx.LockUser(userID); err != nil || s.shutOut(user, login) {
				return orElse(err, ErrProviderNeeded)
			}
		}
		if err := tx.EndLogin(credential.HashToken(b.Login), s.now()); err != nil {
			return err
		}
		if err := tx.InsertLogin(login); err != nil {
			return err
		}
		return write(tx, proved.acts, nil)
	})
}

// shutOut reports whether the instance requires log-in by its provider and this log-in was made in another way.
// Operators may still use other ways, in case the provider fails.
func (s *Service) shutOut(user User, login Login) bool {
	return s.instance.Required && !user.Operator && !slices.Contains(login.Methods, ByProvider)
}

// write appends acts to the logs, at the end of a transaction without err, in an order of the logs that all
// transactions have, so that no two wait for each other: those of tenants by their IDs, then the instance's.
func write(tx Tx, acts []audit.Act, err error) error {
	slices.SortStableFunc(acts, func(a, b audit.Act) int { return cmp.Compare(a.Scope, b.Scope) })
	for _, act := range acts {
		if err == nil {
			err = tx.AppendAudit(act)
		}
	}
	return err
}

// newLogin returns a log-in that begins now, with its cookies. It counts as a
// recent confirmation of the user's identity.
func (s *Service) newLogin(userID uuid.UUID, b Browser, methods ...Method) (Signed, Login, error) {
	token, err := credential.NewLinkToken(s.random)
	if err != nil {
		return Signed{}, Login{}, err
	}
	signed := Signed{Login: token, Device: b.Device}
	if !s.knownDevice(b.Device, userID) {
		if signed.Device, err = s.newDevice(userID); err != nil {
			return Signed{}, Login{}, err
		}
	}
	now := s.now()
	until := now.Add(StepUpTTL)
	return signed, Login{
		Hash: credential.HashToken(token), UserID: userID, DeviceHash: credential.HashToken(signed.Device), Methods: methods,
		CreatedAt: now, SeenAt: now, EndsAt: now.Add(LoginTTL), SteppedUpUntil: &until,
	}, nil
}

// LogOut ends the log-in that a cookie's token belongs to. An unknown token is no error.
func (s *Service) LogOut(ctx context.Context, token string) error {
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		return tx.EndLogin(credential.HashToken(token), s.now())
	})
}

// orElse returns err, or otherwise if err is nil.
func orElse(err, otherwise error) error {
	return cmp.Or(err, otherwise)
}
