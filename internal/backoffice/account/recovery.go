package account

import (
	"context"
	"errors"
	"time"

	"agegate/internal/backoffice/mail"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// ErrDisabled refuses a recovery link for a disabled user.
var ErrDisabled = fault.New(fault.Conflict, "the user is disabled: agegate user enable lets them sign in again")

// NewRecoveryLink returns the address of a link that replaces all factors of a user. It is valid for RecoveryTTL and
// replaces an earlier link. Only operators and the command line may call this, because a user may belong to several
// tenants. It returns fault.NotFound, ErrDisabled, or ErrManaged for a user whom the identity provider made.
func (s *Service) NewRecoveryLink(ctx context.Context, actor audit.Actor, userID uuid.UUID) (string, error) {
	link := Link{Kind: LinkRecovery, UserID: &userID, CreatedBy: makerOf(actor), ExpiresAt: s.now().Add(RecoveryTTL)}
	return s.newLink(ctx, link, func(tx Tx, link Link, address string) error {
		if _, err := lockMaker(tx, link); err != nil {
			return err
		}
		user, err := tx.LockUser(userID)
		if err != nil || user.DisabledAt != nil {
			return orElse(err, ErrDisabled)
		}
		if user.Managed() {
			return ErrManaged
		}
		_, err = tx.DeleteLinks(Link{Kind: LinkRecovery, UserID: &userID})
		link.Note = user.Email
		if err = errors.Join(err, tx.InsertLink(link)); err != nil {
			return err
		}
		message := mail.Message{Kind: mail.Recovery, To: user.Email, Locale: user.Locale, Link: address}
		if err := s.post(tx, message, link); err != nil {
			return err
		}
		acts, err := s.userActs(tx, actor, audit.UserRecoveryLink, userID)
		return write(tx, acts, err)
	})
}

// Recovering returns the user of a recovery link and the options to make a passkey for them, or "" if the dashboard
// has no passkeys. It returns ErrLinkGone.
func (s *Service) Recovering(ctx context.Context, token string) (user User, options string, err error) {
	link, err := s.linkOf(ctx, token, LinkRecovery)
	if err != nil {
		return User{}, "", err
	}
	if user, err = s.store.UserByID(ctx, *link.UserID); err != nil {
		return User{}, "", err
	}
	if user.DisabledAt != nil {
		return User{}, "", ErrLinkGone
	}
	options, err = s.createOptions(user, nil)
	return user, options, err
}

// Recover uses a recovery link: the new factor replaces password, passkeys, authenticator app and recovery codes, all
// log-ins end, and the user is signed in. It returns ErrLinkGone, ErrPasskey, or fault.Invalid with the field password.
func (s *Service) Recover(ctx context.Context, token string, f Factor, b Browser) (Signed, error) {
	user, _, err := s.Recovering(ctx, token)
	if err != nil {
		return Signed{}, err
	}
	if err := f.checkPassword(user.Name, user.Email); err != nil {
		return Signed{}, fault.InvalidFields(fault.FieldError{Field: "password", Err: err})
	}
	link, err := s.linkOf(ctx, token, LinkRecovery)
	if err != nil {
		return Signed{}, err
	}
	by, err := s.attemptLink(ctx, link)
	if err != nil {
		return Signed{}, err
	}
	var made *usedPasskey
	if f.Passkey != "" {
		checked, err := s.checkNewPasskey(f.Passkey, "")
		if err != nil || checked.key.UserID != user.ID {
			return Signed{}, orElse(err, ErrPasskey)
		}
		made = &checked
	}
	phc := ""
	if f.Password != "" {
		if phc, err = s.hasher.hash(ctx, by, f.Password); err != nil {
			return Signed{}, err
		}
	}
	return s.signIn(ctx, user.ID, b, func(tx Tx) (proof, error) {
		if _, err := tx.TakeLink(LinkRecovery, link.Hash, s.now()); err != nil {
			return proof{}, goneOr(err)
		}
		if user, err := tx.LockUser(user.ID); err != nil || user.DisabledAt != nil {
			return proof{}, orElse(err, ErrLinkGone)
		}
		if err := s.replaceFactors(tx, user.ID, phc, made); err != nil {
			return proof{}, err
		}
		acts, err := s.userActs(tx, audit.User(user.ID, user.Name), audit.UserRecover, user.ID)
		return proof{methods: []Method{f.method()}, acts: acts}, err
	})
}

func (s *Service) replaceFactors(tx Tx, userID uuid.UUID, phc string, made *usedPasskey) error {
	_, err := tx.EndLogins(userID, nil, s.now())
	err = errors.Join(err, tx.SetUser(User{ID: userID, Password: phc}, "Password", "TOTP", "TOTPStep"),
		tx.ReplaceCodes(userID, nil), tx.DeletePasskeys(userID))
	if err != nil || made == nil {
		return err
	}
	return made.insert(tx)
}

// Disable ends all log-ins of a user and every link that was made for them or by them, and refuses new log-ins.
// Disabling a disabled user changes nothing. It returns fault.NotFound.
func (s *Service) Disable(ctx context.Context, actor audit.Actor, userID uuid.UUID) error {
	return s.setDisabled(ctx, actor, audit.UserDisable, userID, new(s.now()))
}

// Enable lets a disabled user sign in again. It returns fault.NotFound.
func (s *Service) Enable(ctx context.Context, actor audit.Actor, userID uuid.UUID) error {
	return s.setDisabled(ctx, actor, audit.UserEnable, userID, nil)
}

func (s *Service) setDisabled(
	ctx context.Context, actor audit.Actor, action audit.Action, userID uuid.UUID, since *time.Time,
) error {
	if _, err := s.store.UserByID(ctx, userID); err != nil {
		return err
	}
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		changed, err := tx.SetDisabled(userID, since)
		if err != nil || !changed {
			return err
		}
		acts, err := s.userActs(tx, actor, action, userID)
		if err == nil && since != nil {
			_, recovery := tx.DeleteLinks(Link{Kind: LinkRecovery, UserID: &userID})
			_, logins := tx.EndLogins(userID, nil, *since)
			acts, err = s.endLinks(tx, actor, Link{CreatedBy: &userID}, acts...)
			err = errors.Join(recovery, logins, err)
		}
		return write(tx, acts, err)
	})
}
