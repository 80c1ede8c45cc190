package account

import (
	"context"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// Factors are the ways in which a user can prove their identity.
type Factors struct {
	Passkeys []Passkey
	Password bool
	TOTP     bool
	Codes    int // unused recovery codes
}

// Strong reports whether the user can sign in with two factors.
func (f Factors) Strong() bool { return len(f.Passkeys) > 0 || f.Password && f.TOTP }

// Ways returns the number of ways to sign in: each passkey, and the password.
func (f Factors) Ways() int {
	if f.Password {
		return len(f.Passkeys) + 1
	}
	return len(f.Passkeys)
}

var (
	// ErrLastWay refuses to remove the only way to sign in.
	ErrLastWay = fault.New(fault.Conflict, "It is the only way in")
	// ErrSecondFactor refuses a change of factors if the log-in did not use the user's
	// second factor. A password alone may not replace anything stronger.
	ErrSecondFactor = fault.New(fault.Conflict, "A second factor is needed")
)

// Factors returns the user's factors.
func (s *Service) Factors(ctx context.Context, who Identity) (Factors, error) {
	user, err := s.store.UserByID(ctx, who.user.ID)
	if err != nil {
		return Factors{}, err
	}
	keys, err := s.store.Passkeys(ctx, user.ID)
	if err != nil {
		return Factors{}, err
	}
	f := factorsOf(user, keys)
	f.Codes, err = s.store.CodesLeft(ctx, user.ID)
	return f, err
}

// factorsOf returns the factors of a user with these passkeys, without the number of recovery codes.
func factorsOf(user User, passkeys []Passkey) Factors {
	return Factors{Passkeys: passkeys, Password: user.Password != "", TOTP: user.TOTP != nil}
}

// lockFactors returns a user's factors, without the number of recovery codes.
// Other transactions that call it for this user wait.
func lockFactors(tx Tx, userID uuid.UUID) (Factors, error) {
	user, err := tx.LockUser(userID)
	if err != nil {
		return Factors{}, err
	}
	keys, err := tx.Passkeys(userID)
	return factorsOf(user, keys), err
}

// MaxPasskeyName is the maximum length of a passkey's name, in characters.
const MaxPasskeyName = 60

// NewPasskeyOptions returns the options to make another passkey, or "" if the dashboard has no passkeys.
func (s *Service) NewPasskeyOptions(ctx context.Context, who Identity) (string, error) {
	have, err := s.store.Passkeys(ctx, who.user.ID)
	if err != nil {
		return "", err
	}
	return s.createOptions(who.user, have)
}

// AddPasskey adds a passkey under a name, which may be empty, and returns the new token for the cookie. It returns
// ErrPasskey or fault.Invalid with the field name.
func (s *Service) AddPasskey(ctx context.Context, who Identity, name, response string) (string, error) {
	name = strings.TrimSpace(name)
	if name != "" && (checkName(name) != nil || utf8.RuneCountInString(name) > MaxPasskeyName) {
		return "", fault.InvalidFields(fault.FieldError{Field: "name", Err: ErrName})
	}
	made, err := s.checkNewPasskey(response, name)
	if err != nil {
		return "", err
	}
	if made.key.UserID != who.user.ID {
		return "", ErrPasskey
	}
	return s.change(ctx, who, audit.PasskeyAdd, []Method{ByPasskey}, made.insert)
}

// RemovePasskey removes a passkey and returns the new token for the cookie. If it was the last second factor, all
// other log-ins end. It returns fault.NotFound or ErrLastWay.
func (s *Service) RemovePasskey(ctx context.Context, who Identity, id uuid.UUID) (string, error) {
	return s.change(ctx, who, audit.PasskeyRemove, nil, func(tx Tx) error {
		if factors, err := lockFactors(tx, who.user.ID); err != nil || factors.Ways() < 2 {
			return orElse(err, ErrLastWay)
		}
		return tx.DeletePasskey(who.user.ID, id)
	})
}

// SetPassword sets the user's password, ends all other log-ins, and returns the new token for the cookie. near are
// names that the password must not contain, as in Factor. It returns fault.Invalid with the field password.
func (s *Service) SetPassword(ctx context.Context, who Identity, password string, near []string) (string, error) {
	if err := checkPassword(password, who.user.Name, who.user.Email, near...); err != nil {
		return "", fault.InvalidFields(fault.FieldError{Field: "password", Err: err})
	}
	err := s.store.UpdateAccounts(ctx, func(tx Tx) error {
		return s.takeCheck(tx, s.now(), "user "+who.user.ID.String(), ownChecks, ownWindow)
	})
	if err != nil {
		return "", err
	}
	phc, err := s.hasher.hash(ctx, party(who.user.ID), password)
	if err != nil {
		return "", err
	}
	return s.change(ctx, who, audit.PasswordSet, nil, func(tx Tx) error {
		if err := tx.SetUser(User{ID: who.user.ID, Password: phc}, "Password"); err != nil {
			return err
		}
		_, err := tx.EndLogins(who.user.ID, who.login.Hash, s.now())
		return err
	})
}

// Enrolment is an authenticator app that is being set up.
type Enrolment struct {
	Ticket string // for AddTOTP and TOTPEnrolment
	URI    string // for a QR code
	Secret string // in base32, for typing it in
}

// NewTOTP starts to set up an authenticator app. Nothing is stored before AddTOTP.
func (s *Service) NewTOTP(who Identity) (Enrolment, error) {
	secret := make([]byte, totpSecret)
	if _, err := io.ReadFull(s.random, secret); err != nil {
		return Enrolment{}, err
	}
	sealed, err := s.seal(forTOTP, who.user.ID, ceremonyTTL, secret)
	if err != nil {
		return Enrolment{}, err
	}
	return s.TOTPEnrolment(who, encode(sealed))
}

// TOTPEnrolment returns the enrolment that NewTOTP started, or ErrStartAgain.
func (s *Service) TOTPEnrolment(who Identity, text string) (Enrolment, error) {
	t, ok := s.open(forTOTP, decode(text))
	if !ok || t.userID != who.user.ID {
		return Enrolment{}, ErrStartAgain
	}
	return Enrolment{text, totpURI(t.data, hostOf(s.url), who.user.Email), base32Text.EncodeToString(t.data)}, nil
}

// AddTOTP sets up the authenticator app that shows the code and replaces the recovery codes. It returns these and the
// new token for the cookie, or ErrWrongCode or ErrStartAgain.
func (s *Service) AddTOTP(
	ctx context.Context, who Identity, text, code string,
) (token string, codes []string, err error) {
	t, ok := s.open(forTOTP, decode(text))
	if !ok || t.userID != who.user.ID {
		return "", nil, ErrStartAgain
	}
	step, ok := matchTOTP(t.data, code, s.now())
	if !ok {
		return "", nil, ErrWrongCode
	}
	sealed, err := s.sealer.Seal(t.data, TOTPContext(who.user.ID.String()))
	if err != nil {
		return "", nil, err
	}
	codes, hashes, err := s.newCodesFor(who)
	if err != nil {
		return "", nil, err
	}
	token, err = s.change(ctx, who, audit.TOTPAdd, []Method{ByTOTP}, func(tx Tx) error {
		if first, err := t.use(tx, decode(text)); err != nil || !first {
			return orElse(err, ErrStartAgain)
		}
		if err := tx.SetUser(User{ID: who.user.ID, TOTP: sealed, TOTPStep: step}, "TOTP", "TOTPStep"); err != nil {
			return err
		}
		return tx.ReplaceCodes(who.user.ID, hashes)
	})
	return token, codes, err
}

// RemoveTOTP removes the authenticator app and the recovery codes, and returns the new token for the cookie. If it
// was the last second factor, all other log-ins end.
func (s *Service) RemoveTOTP(ctx context.Context, who Identity) (string, error) {
	return s.change(ctx, who, audit.TOTPRemove, nil, func(tx Tx) error {
		if err := tx.SetUser(User{ID: who.user.ID}, "TOTP", "TOTPStep"); err != nil {
			return err
		}
		return tx.ReplaceCodes(who.user.ID, nil)
	})
}

// NewCodes replaces the recovery codes. It returns these and the new token for the cookie.
func (s *Service) NewCodes(ctx context.Context, who Identity) (token string, codes []string, err error) {
	codes, hashes, err := s.newCodesFor(who)
	if err != nil {
		return "", nil, err
	}
	token, err = s.change(ctx, who, audit.CodesReplace, nil,
		func(tx Tx) error { return tx.ReplaceCodes(who.user.ID, hashes) })
	return token, codes, err
}

// Logins returns the user's log-ins that have not ended, newest first.
func (s *Service) Logins(ctx context.Context, who Identity) ([]Login, error) {
	return s.store.LoginsOf(ctx, who.user.ID, s.now())
}

// EndLogin ends the user's log-in that began at a time. The time identifies the log-in, because it stays the same
// when the log-in gets another token. It is no error if the log-in has ended or does not exist.
func (s *Service) EndLogin(ctx context.Context, who Identity, since time.Time) error {
	return s.endLogins(ctx, who, audit.LoginEnd, func(tx Tx) (int, error) {
		return tx.EndLoginSince(who.user.ID, since, s.now())
	})
}

// EndOtherLogins ends all log-ins of the user except this one.
func (s *Service) EndOtherLogins(ctx context.Context, who Identity) error {
	return s.endLogins(ctx, who, audit.LoginsEnd, func(tx Tx) (int, error) {
		return tx.EndLogins(who.user.ID, who.login.Hash, s.now())
	})
}

// endLogins ends log-ins of the user, and writes an entry if there were any.
func (s *Service) endLogins(
	ctx context.Context, who Identity, action audit.Action, end func(tx Tx) (int, error),
) error {
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		if n, err := end(tx); err != nil || n == 0 {
			return err
		}
		return tx.AppendAudit(s.userAct(who.Actor(), action, who.user.ID))
	})
}

// SetLocale sets the language of the user's pages; "" is the browser's.
func (s *Service) SetLocale(ctx context.Context, who Identity, locale string) error {
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		return tx.SetUser(User{ID: who.user.ID, Locale: locale}, "Locale")
	})
}
