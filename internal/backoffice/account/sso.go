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

// SSOPath comes before the name of a provider: a tenant's ID, or SSOInstance. The
// address to which a provider redirects ends with SSOBack.
const (
	SSOPath     = "/dashboard/login/sso/"
	SSOInstance = "instance"
	SSOBack     = "/back"
)

// SSOTTL is how long a log-in by a provider may take.
const SSOTTL = ceremonyTTL

// Limits of log-ins by a provider.
const (
	// LoginTTLProvider is how long such a log-in lasts. It is short because the roles
	// of the user's groups are read only at log-in.
	LoginTTLProvider = 12 * time.Hour
	ssoChecks        = 600 // of a network, in networkWindow: nothing can be guessed, so enough for a large office
)

// flow is an attempt to log in by a provider, sealed in a cookie.
type flow struct {
	Of      uuid.UUID // whose provider it is
	Issuer  string    // its issuer when the attempt began
	Attempt Attempt
	Next    string
	Trial   []byte // hash of the owner's log-in in which the provider is tried; empty: somebody logs in
}

// purpose returns the purpose of the flow's ticket. Trials have another purpose than
// log-ins, so that a release that does not know trials cannot mistake a trial for a
// log-in.
func (f flow) purpose() purpose {
	if f.Trial != nil {
		return forTrial
	}
	return forSSO
}

// Arrival is the result of an attempt: a log-in, or the result of a trial.
type Arrival struct {
	Signed Signed
	Next   string // where the log-in leads
	Trial  *Trial // nil: a log-in
}

// Answer is what a provider sends back through the browser.
type Answer struct {
	State, Code string
	Issuer      string // see RFC 9207; may be empty
	Error       string // set if the provider refuses
}

// provider returns the provider of a tenant, or the instance's for uuid.Nil. It
// returns fault.NotFound if there is none.
func (s *Service) provider(ctx context.Context, of uuid.UUID) (Provider, error) {
	if of == uuid.Nil {
		if s.instance.Issuer == "" {
			return Provider{}, fault.New(fault.NotFound, "Not found")
		}
		return s.instance, nil
	}
	stored, err := s.store.Provider(ctx, of)
	if err != nil {
		return Provider{}, err
	}
	return s.unseal(stored)
}

// ProviderName returns the name of a tenant's provider, or of the instance's for
// uuid.Nil. It returns fault.NotFound if there is none.
func (s *Service) ProviderName(ctx context.Context, of uuid.UUID) (string, error) {
	if of == uuid.Nil {
		p, err := s.provider(ctx, of)
		return p.Name, err
	}
	stored, err := s.store.Provider(ctx, of)
	return stored.Name, err
}

// RedirectURI returns the address to which a provider redirects. Each provider has its
// own address, so that no provider can pass its answer off as that of another.
func (s *Service) RedirectURI(of uuid.UUID) string { return s.url + SSOPath + SSOName(of) + SSOBack }

// SSOLink returns the address that begins a log-in by a provider.
func (s *Service) SSOLink(of uuid.UUID) string { return s.url + SSOPath + SSOName(of) }

// SSOName names a provider in addresses.
func SSOName(of uuid.UUID) string {
	if of == uuid.Nil {
		return SSOInstance
	}
	return of.String()
}

// BeginSSO begins a log-in by a provider. It returns the address of the provider's
// page, and the value of a cookie that FinishSSO needs. After the log-in, the browser
// goes to next. With again, the provider must ask the user to sign in even if it knows
// them. It returns fault.NotFound or a *ProviderError.
func (s *Service) BeginSSO(
	ctx context.Context, of uuid.UUID, next string, again bool, b Browser,
) (address, cookie string, err error) {
	return s.beginFlow(ctx, flow{Of: of, Next: next, Attempt: Attempt{Again: again}}, b)
}

// beginFlow completes an attempt and begins it.
func (s *Service) beginFlow(ctx context.Context, f flow, b Browser) (address, cookie string, err error) {
	p, err := s.provider(ctx, f.Of)
	if err != nil {
		return "", "", err
	}
	by, err := s.caller(ctx, f.Of, b)
	if err != nil {
		return "", "", err
	}
	f.Issuer, f.Attempt.Redirect = p.Issuer, s.RedirectURI(f.Of)
	for _, token := range []*string{&f.Attempt.State, &f.Attempt.Nonce, &f.Attempt.Verifier} {
		if *token, err = credential.NewLinkToken(s.random); err != nil {
			return "", "", err
		}
	}
	data, err := json.Marshal(f)
	if err != nil {
		return "", "", err
	}
	sealed, err := s.seal(f.purpose(), uuid.Nil, SSOTTL, data)
	if err != nil {
		return "", "", err
	}
	address, err = s.openID.Begin(ctx, p, by, f.Attempt)
	return address, encode(sealed), err
}

// FinishSSO signs in the user whom a provider's answer names. After BeginTrial it
// returns the result of the trial instead, to the owner who began it and to nobody
// else. Each cookie allows one try. It returns ErrStartAgain for an answer that does
// not belong to the cookie, ErrRefused, fault.NotFound, a *GroupsError, a
// *ProviderError or a *ThrottleError.
func (s *Service) FinishSSO(
	ctx context.Context, of uuid.UUID, cookie string, a Answer, b Browser,
) (Arrival, error) {
	by, err := s.caller(ctx, of, b)
	if err != nil {
		return Arrival{}, err
	}
	f, err := s.takeFlow(ctx, of, cookie, a, by)
	if err != nil {
		return Arrival{}, err
	}
	var owner Access // of a trial
	if f.Trial != nil {
		if owner, err = s.trierOf(ctx, f, b); err != nil {
			return Arrival{}, err
		}
	}
	p, err := s.provider(ctx, of)
	switch {
	case err != nil:
		return Arrival{}, err
	case p.Issuer != f.Issuer:
		return Arrival{}, ErrStartAgain // it was changed meanwhile
	case a.Issuer != "" && a.Issuer != p.Issuer:
		return Arrival{}, &ProviderError{Why: WhyAnswer}
	case a.Error != "":
		return Arrival{}, ErrRefused
	}
	claims, err := s.openID.Finish(ctx, p, by, f.Attempt, a.Code)
	if f.Trial != nil {
		trial, err := s.try(ctx, owner, p, claims, err)
		return Arrival{Trial: trial}, err
	}
	if err != nil {
		return Arrival{}, err
	}
	signed, err := s.signInBy(ctx, p, claims, f.Attempt.Again, b)
	if fault.CodeOf(err) == fault.Conflict { // the user's first log-in was made twice at once
		signed, err = s.signInBy(ctx, p, claims, f.Attempt.Again, b)
	}
	return Arrival{Signed: signed, Next: f.Next}, err
}

// caller returns the Caller for a request of a browser. A browser counts as known only
// if a user of this provider has signed in there. Users of other providers do not
// count, because a tenant could create any number of them.
func (s *Service) caller(ctx context.Context, of uuid.UUID, b Browser) (Caller, error) {
	by := Caller{Network: b.Network}
	device, ok := s.open(forDevice, decode(b.Device))
	if !ok {
		return by, nil
	}
	user, err := s.store.UserByID(ctx, device.userID)
	if fault.CodeOf(err) == fault.NotFound {
		return by, nil
	}
	if err == nil && user.Managed() && user.Provider() == of && user.DisabledAt == nil {
		by.User = user.ID
	}
	return by, err
}

// takeFlow opens the cookie of an attempt. If the answer belongs to the attempt, it
// uses up the cookie.
func (s *Service) takeFlow(
	ctx context.Context, of uuid.UUID, cookie string, a Answer, by Caller,
) (f flow, err error) {
	t, ok := s.open(forSSO, decode(cookie))
	if !ok {
		t, ok = s.open(forTrial, decode(cookie))
	}
	if !ok || json.Unmarshal(t.data, &f) != nil || f.Of != of ||
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
func (s *Service) signInBy(ctx context.Context, p Provider, c Claims, again bool, b Browser) (Signed, error) {
	user, err := s.store.UserByProvider(ctx, p.TenantID, p.Issuer, c.Subject)
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
	operator, roles := p.rights(c.Groups)
	if !operator && len(roles) == 0 {
		if known {
			if err := s.dismiss(ctx, user); err != nil {
				return Signed{}, err
			}
		}
		return Signed{}, &GroupsError{Why: WhyNoGroup, Claim: p.GroupsClaim, Count: len(c.Groups)}
	}
	if !known {
		if user, err = s.newcomerBy(p, c); err != nil {
			return Signed{}, err
		}
	}
	return s.signIn(ctx, user.ID, b, func(tx Tx) (proof, error) {
		acts, err := s.admitBy(tx, user, known, c, operator, roles)
		return proof{methods: []Method{ByProvider}, acts: acts, edit: func(l *Login) {
			l.EndsAt, l.SteppedUpUntil = l.CreatedAt.Add(LoginTTLProvider), confirmed
		}}, err
	})
}

// confirmedUntil returns until when a log-in by a provider counts as a recent
// confirmation of the user's identity, or nil if it does not. It counts from the time
// at which the provider says that the user signed in there, which may be days ago.
func confirmedUntil(authTime, now time.Time) *time.Time {
	if until := authTime.Add(StepUpTTL); until.After(now) && !authTime.After(now.Add(time.Minute)) {
		return &until
	}
	return nil
}

// newcomerBy returns the user that a first log-in creates.
func (s *Service) newcomerBy(p Provider, c Claims) (User, error) {
	id, err := uuid.NewV7()
	user := User{ID: id, Issuer: p.Issuer, Subject: c.Subject, CreatedAt: s.now()}
	if p.TenantID != uuid.Nil {
		user.ManagedBy = &p.TenantID
	}
	user.Name, user.Email = c.person()
	return user, err
}
