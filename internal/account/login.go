package account

import (
	"context"

	"agegate/internal/credential"
	"agegate/internal/fault"
)

// ErrWrongLogin is the answer to every log-in that fails: it does not say
// whether the user exists.
var ErrWrongLogin = fault.New(fault.InvalidKey, "E-mail or password is wrong")

// LogIn signs a user in by password and returns the token for a new cookie. It
// ends the log-in of previous, the cookie that the browser had. It returns
// ErrWrongLogin; for an unknown user this takes as long as for a known one.
func (s *Service) LogIn(ctx context.Context, email, password, previous string) (string, error) {
	user, err := s.store.UserByEmail(ctx, normalEmail(email))
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return "", err
	}
	matches, err := s.hasher.matches(ctx, user.Password, password)
	if err != nil {
		return "", err
	}
	if !matches || user.DisabledAt != nil {
		return "", ErrWrongLogin
	}
	login, token, err := s.newLogin(user.ID, ByPassword)
	if err != nil {
		return "", err
	}
	return token, s.store.UpdateAccounts(ctx, func(tx Tx) error {
		if err := tx.EndLogin(credential.HashToken(previous), s.now()); err != nil {
			return err
		}
		return tx.InsertLogin(login)
	})
}

// LogOut ends the log-in of a cookie's token. An unknown token is no error.
func (s *Service) LogOut(ctx context.Context, token string) error {
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		return tx.EndLogin(credential.HashToken(token), s.now())
	})
}
