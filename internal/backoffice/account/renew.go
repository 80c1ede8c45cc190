package account

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
)

// A change of factors, or a confirmation, gives the log-in another token. A form without a script is easily sent
// twice, and the browser keeps only the second answer. Therefore the new token and the recovery codes are derived
// from the form. A client that sends the form twice gets the same answer twice, and the change is made once.

// IdentifySender is like Identify, for a form that gives the log-in another token. The nonce identifies the copy of
// the form that was sent; it may be empty. IdentifySender also accepts a second request with the previous token, as
// long as the confirmation that allowed the form is recent.
func (s *Service) IdentifySender(ctx context.Context, token, nonce string) (Identity, error) {
	who, err := s.Identify(ctx, token)
	if errors.Is(err, ErrSignedOut) && nonce != "" && len(token) == tokenLen {
		if who, err = s.Identify(ctx, s.nextToken(token, nonce)); err == nil && !who.SteppedUp(s.now()) {
			return Identity{}, ErrSignedOut
		}
	}
	who.nonce = nonce
	return who, err
}

// nextToken returns the token after a form. It cannot be computed without the server's key, and the server computes
// it only for a client that knows the nonce and the previous token.
func (s *Service) nextToken(token, nonce string) string {
	return encode(s.sealer.MAC("renewed " + token + " " + nonce))
}

// form identifies the copy of a form that the user has sent, independently of the token.
func (i Identity) form() string {
	return i.user.ID.String() + " " + i.login.CreatedAt.Format(time.RFC3339Nano) + " " + i.nonce
}

var errSent = errors.New("the form was sent before")

// change changes the user's factors, writes the entry, and gives the log-in another token, which it returns. added
// are further methods by which the user is now signed in. If the user has no second factor left, this log-in counts
// as made by password alone, and all others end. change returns ErrSecondFactor, or ErrManaged for a user whom the
// identity provider made.
func (s *Service) change(
	ctx context.Context, who Identity, action audit.Action, added []Method, do func(tx Tx) error,
) (string, error) {
	if who.user.Managed() {
		return "", ErrManaged
	}
	return s.renew(ctx, who, func(tx Tx, login *Login) error {
		if before, err := lockFactors(tx, who.user.ID); err != nil || before.Strong() && !who.Strong() {
			return orElse(err, ErrSecondFactor)
		}
		if err := do(tx); err != nil {
			return err
		}
		after, err := lockFactors(tx, who.user.ID)
		if err != nil {
			return err
		}
		if !after.Strong() {
			if _, err := tx.EndLogins(who.user.ID, who.login.Hash, s.now()); err != nil {
				return err
			}
			login.Methods = slices.DeleteFunc(login.Methods, func(m Method) bool { return m != ByPassword })
		}
		login.add(added)
		return tx.AppendAudit(s.userAct(who.Actor(), action, who.user.ID))
	})
}

// renew gives the log-in another token, which it returns, and applies the changes
// of do. do runs in the same transaction, once for each form.
func (s *Service) renew(
	ctx context.Context, who Identity, do func(tx Tx, login *Login) error,
) (token string, err error) {
	if who.nonce != "" {
		token = s.nextToken(who.token, who.nonce)
	} else if token, err = credential.NewLinkToken(s.random); err != nil {
		return "", err
	}
	err = s.store.UpdateAccounts(ctx, func(tx Tx) error {
		if who.nonce != "" {
			first, err := tx.ClaimFlow(credential.HashToken(who.form()), "change", s.now().Add(formTTL))
			if err != nil || !first {
				return orElse(err, errSent)
			}
		}
		login := who.login
		login.Hash, login.Methods = credential.HashToken(token), slices.Clone(login.Methods)
		if err := do(tx, &login); err != nil {
			return err
		}
		err := tx.RenewLogin(who.login.Hash, login, s.now())
		if fault.CodeOf(err) == fault.NotFound {
			return ErrSignedOut // another form came first
		}
		return err
	})
	if !errors.Is(err, errSent) {
		return token, err
	}
	if _, err := s.Identify(ctx, token); !errors.Is(err, ErrSignedOut) {
		return token, err // the form was sent twice at the same time
	}
	return who.token, nil
}

// add adds methods by which the user is signed in.
func (l *Login) add(methods []Method) {
	for _, m := range methods {
		if !slices.Contains(l.Methods, m) {
			l.Methods = append(l.Methods, m)
		}
	}
}

// newCodesFor returns new recovery codes; for the same form they are the same.
func (s *Service) newCodesFor(who Identity) (codes []string, hashes [][]byte, err error) {
	random := s.random
	if who.nonce != "" {
		derived, err := hkdf.Expand(sha256.New, s.sealer.MAC("codes "+who.form()), "", recoveryCodes*codeBytes)
		if err != nil {
			return nil, nil, err
		}
		random = bytes.NewReader(derived)
	}
	return newCodes(random)
}
