package account

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"time"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// SSOPath begins a log-in by the provider, which redirects to SSOBackPath.
const (
	SSOPath     = "/dashboard/login/sso/instance"
	SSOBackPath = SSOPath + "/back"
)

// SSOTTL is how long a log-in by the provider may take.
const SSOTTL = ceremonyTTL

// Limits of log-ins by the provider.
const (
	// LoginTTLProvider is how long such a log-in lasts. It is short because the roles
	// of the user's groups are read only at log-in.
	LoginTTLProvider = 12 * time.Hour
	ssoChecks        = 600 // of a network, in networkWindow: nothing can be guessed, so enough for a large office
)

// flow is an attempt to log in by the provider, sealed in a cookie.
type flow struct {
	Issuer  string // of the provider when the attempt began
	Attempt Attempt
	Next    string
}

// Answer is what the provider sends back through the browser.
type Answer struct {
	State, Code string
	Issuer      string // see RFC 9207; may be empty
	Error       string // set if the provider refuses
}

// ProviderName returns the name of the instance's provider, or "" if there is none.
func (s *Service) ProviderName() string { return s.instance.Name }

var errNoProvider = fault.New(fault.NotFound, "Not found")

// BeginSSO begins a log-in by the provider. It returns the address of the provider's page, and the value of a cookie
// that FinishSSO needs. After the log-in, the browser goes to next. With again, the provider must ask the user to
// sign in even if it knows them. It returns fault.NotFound or a *ProviderError.
func (s *Service) BeginSSO(
	ctx context.Context, next string, again bool, b Browser,
) (address, cookie string, err error) {
	if s.instance.Issuer == "" {
		return "", "", errNoProvider
	}
	by, err := s.caller(ctx, b)
	if err != nil {
		return "", "", err
	}
	f := flow{Issuer: s.instance.Issuer, Next: next, Attempt: Attempt{Redirect: s.url + SSOBackPath, Again: again}}
	for _, token := range []*string{&f.Attempt.State, &f.Attempt.Nonce, &f.Attempt.Verifier} {
		if *token, err = credential.NewLinkToken(s.random); err != nil {
			return "", "", err
		}
	}
	data, err := json.Marshal(f)
	if err != nil {
		return "", "", err
	}
	sealed, err := s.seal(forSSO, uuid.Nil, SSOTTL, data)
	if err != nil {
		return "", "", err
	}
	address, err = s.openID.Begin(ctx, by, f.Attempt)
	return address, encode(sealed), err
}

// FinishSSO signs in the user whom the provider's answer names, and returns where the
// log-in leads. Each cookie allows one try. It returns ErrStartAgain for an answer that
// does not belong to the cookie, ErrRefused, fault.NotFound, a *GroupsError, a
// *ProviderError or a *ThrottleError.
func (s *Service) FinishSSO(
	ctx context.Context, cookie string, a Answer, b Browser,
) (signed Signed, next string, err error) {
	if s.instance.Issuer == "" {
		return Signed{}, "", errNoProvider
	}
	by, err := s.caller(ctx, b)
	if err != nil {
		return Signed{}, "", err
	}
	f, err := s.takeFlow(ctx, cookie, a, by)
	switch {
	case err != nil:
		return Signed{}, "", err
	case f.Issuer != s.instance.Issuer:
		return Signed{}, "", ErrStartAgain // it was changed meanwhile
	case a.Issuer != "" && a.Issuer != f.Issuer:
		return Signed{}, "", &ProviderError{Why: WhyAnswer}
	case a.Error != "":
		return Signed{}, "", ErrRefused
	}
	claims, err := s.openID.Finish(ctx, by, f.Attempt, a.Code)
	if err != nil {
		return Signed{}, "", err
	}
	signed, err = s.signInBy(ctx, claims, f.Attempt.Again, b)
	if fault.CodeOf(err) == fault.Conflict { // the user's first log-in was made twice at once
		signed, err = s.signInBy(ctx, claims, f.Attempt.Again, b)
	}
	return signed, f.Next, err
}

// caller returns the Caller for a request of a browser. A browser counts as known only
// if a user of the provider has signed in there.
func (s *Service) caller(ctx context.Context, b Browser) (Caller, error) {
	by := Caller{Network: b.Network}
	device, ok := s.open(forDevice, decode(b.Device))
	if !ok {
		return by, nil
	}
	user, err := s.store.UserByID(ctx, device.userID)
	if fault.CodeOf(err) == fault.NotFound {
		return by, nil
	}
	if err == nil && user.Managed() && user.DisabledAt == nil {
		by.User = user.ID
	}
	return by, err
}

// takeFlow opens the cookie of an attempt. If the answer belongs to the attempt, it uses up the cookie.
func (s *Service) takeFlow(ctx context.Context, cookie string, a Answer, by Caller) (f flow, err error) {
	t, ok := s.open(forSSO, decode(cookie))
	if !ok || json.Unmarshal(t.data, &f) != nil ||
		subtle.ConstantTimeCompare([]byte(f.Attempt.State), []byte(a.State)) != 1 {
		return flow{}, ErrStartAgain
	}
	return f, s.store.UpdateAccounts(ctx, func(tx Tx) error {
		var err error
		switch now := s.now(); {
		case by.User != uuid.Nil:
			err = s.takeCheck(tx, now, "user "+by.User.String(), ownChecks, ownWindow)
		case by.Network.IsValid():
			err = s.takeCheck(tx, now, "sso network "+by.Network.String(), ssoChecks, networkWindow)
		}
		if err != nil {
			return err
		}
		first, err := t.use(tx, decode(cookie))
		if err == nil && !first {
			err = ErrStartAgain
		}
		return err
	})
}

// signInBy signs in the user of an ID token, with the roles of their groups. The first
// log-in creates the user. If no group has a role, the user loses their roles.
func (s *Service) signInBy(ctx context.Context, c Claims, again bool, b Browser) (Signed, error) {
	user, err := s.store.UserByProvider(ctx, s.instance.Issuer, c.Subject)
	known := err == nil
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return Signed{}, err
	}
	confirmed := confirmedUntil(c.AuthTime, s.now())
	switch {
	case user.DisabledAt != nil:
		return Signed{}, ErrRefused
	case again && confirmed == nil: // OpenID Connect Core, section 3.1.2.1, max_age
		return Signed{}, &ProviderError{Why: WhyNotAsked}
	}
	operator, roles := s.instance.rights(c.Groups)
	if !operator && len(roles) == 0 {
		if known {
			if err := s.dismiss(ctx, user); err != nil {
				return Signed{}, err
			}
		}
		return Signed{}, &GroupsError{Why: WhyNoGroup, Claim: s.instance.GroupsClaim, Count: len(c.Groups)}
	}
	if !known {
		id, err := uuid.NewV7()
		if err != nil {
			return Signed{}, err
		}
		user = User{ID: id, Issuer: s.instance.Issuer, Subject: c.Subject, CreatedAt: s.now()}
		user.Name, user.Email = c.person()
	}
	return s.signIn(ctx, user.ID, b, func(tx Tx) (proof, error) {
		acts, err := s.admitBy(tx, user, known, c, operator, roles)
		return proof{methods: []Method{ByProvider}, acts: acts, edit: func(l *Login) {
			l.EndsAt, l.SteppedUpUntil = l.CreatedAt.Add(LoginTTLProvider), confirmed
		}}, err
	})
}

// confirmedUntil returns until when a log-in by the provider counts as a recent
// confirmation of the user's identity, or nil if it does not. It counts from the time
// at which the provider says that the user signed in there, which may be days ago.
func confirmedUntil(authTime, now time.Time) *time.Time {
	if until := authTime.Add(StepUpTTL); until.After(now) && !authTime.After(now.Add(time.Minute)) {
		return &until
	}
	return nil
}
