package account

import (
	"context"
)

// StepUp confirms the identity of a signed-in user by password and, if they have an authenticator app, a code. It
// returns the new token for the cookie; the confirmation is valid for StepUpTTL. A user with passkeys and no
// authenticator app can confirm only with StepUpByPasskey. It returns ErrWrongLogin, ErrWrongCode or a
// *ThrottleError.
func (s *Service) StepUp(ctx context.Context, who Identity, password, code string, b Browser) (string, error) {
	factors, err := s.Factors(ctx, who)
	if err != nil {
		return "", err
	}
	if len(factors.Passkeys) > 0 && !factors.TOTP {
		return "", ErrWrongLogin
	}
	bucket, by, err := s.attempt(ctx, who.user.Email, who.user, b)
	if err != nil {
		return "", err
	}
	matches, err := s.hasher.matches(ctx, by, who.user.Password, password)
	if err != nil {
		return "", err
	}
	if !matches {
		return "", ErrWrongLogin
	}
	return s.confirm(ctx, who, func(tx Tx) ([]Method, error) {
		methods := []Method{ByPassword}
		if factors.TOTP {
			method, err := s.useCode(tx, who.user, code)
			if err != nil {
				return nil, err
			}
			methods = append(methods, method)
		}
		return methods, tx.DropThrottle(bucket)
	})
}

// StepUpByPasskey is StepUp with the response to StepUpOptions. It returns ErrPasskey or a *ThrottleError.
func (s *Service) StepUpByPasskey(ctx context.Context, who Identity, response string, b Browser) (string, error) {
	used, err := s.checkPasskey(ctx, forStepUp, who.user.ID, response, b)
	if err != nil {
		return "", err
	}
	return s.confirm(ctx, who, func(tx Tx) ([]Method, error) { return []Method{ByPasskey}, used.use(tx, s.now()) })
}

// confirm marks the log-in as recently confirmed and gives it a new token. prove runs in the same transaction.
func (s *Service) confirm(
	ctx context.Context, who Identity, prove func(tx Tx) ([]Method, error),
) (token string, err error) {
	return s.renew(ctx, who, func(tx Tx, login *Login) error {
		methods, err := prove(tx)
		login.add(methods)
		login.SteppedUpUntil = new(s.now().Add(StepUpTTL))
		return err
	})
}
