package account_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

// invitation returns the token of an invitation to a new tenant.
func (s *sharing) invitation(t *testing.T) (token string, into uuid.UUID) {
	t.Helper()
	sealer, err := credential.NewSealer(make([]byte, credential.SecretLen), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	shop, err := tenant.NewService(s.db, sealer, tenant.CallbackRule{}, rand.Reader, func() time.Time { return s.now }).
		Create(t.Context(), audit.System("test"),
			tenant.Tenant{Name: "Shop", SuccessURL: "https://s.example/", CancelURL: "https://s.example/"})
	if err != nil {
		t.Fatal(err)
	}
	address, err := s.InviteOwner(t.Context(), audit.System("test"), shop.Tenant.ID, account.Invitation{})
	if err != nil {
		t.Fatal(err)
	}
	return address[strings.LastIndex(address, "/")+1:], shop.Tenant.ID
}

func (s *sharing) accept(token, email, password string) (account.Signed, error) {
	p := account.Person{Name: "Bob", Email: email, Factor: account.Factor{Password: password}}
	return s.Accept(context.Background(), token, p, account.Browser{})
}

// add stores a user, who may be a member already.
func (s *sharing) add(t *testing.T, user account.User, of ...uuid.UUID) {
	t.Helper()
	user.ID, user.Name, user.CreatedAt = uuid.Must(uuid.NewV7()), "Some One", s.now
	err := s.db.UpdateAccounts(t.Context(), func(tx account.Tx) error {
		err := tx.InsertUser(user)
		for _, id := range of {
			err = errors.Join(err, tx.InsertMembership(account.Membership{TenantID: id, UserID: user.ID, Role: account.Viewer,
				CreatedAt: s.now}))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEndedInvitationsAreLogged: a tenant's log says of an invitation that another replaced, or whose maker was
// disabled, that it was revoked, if it still worked.
func TestEndedInvitationsAreLogged(t *testing.T) {
	t.Parallel()
	for name, url := range dbtest.URLs(t) {
		t.Run(name, func(t *testing.T) {
			s := share(t, url(t), nil)
			actor := audit.Operator(s.ada.ID, s.ada.Name)
			invite := func(into uuid.UUID) {
				if _, err := s.InviteOwner(t.Context(), actor, into, account.Invitation{}); err != nil {
					t.Fatal(err)
				}
			}
			logged := func(into uuid.UUID, want ...audit.Action) {
				t.Helper()
				log, err := s.db.AuditEntries(t.Context(), audit.Filter{Scope: audit.OfTenant(into)})
				if err != nil || len(log) != 1+len(want) { // the tenant's creation comes first
					t.Fatalf("the log has %+v, %v", log, err)
				}
				for i, action := range want {
					if log[len(want)-1-i].Action != action {
						t.Errorf("entry %d is %s, want %s", i, log[len(want)-1-i].Action, action)
					}
				}
			}
			_, one := s.invitation(t)
			invite(one)
			logged(one, audit.InvitationCreate, audit.InvitationRevoke, audit.InvitationCreate)
			_, other := s.invitation(t)
			s.now = s.now.Add(account.InvitationTTL)
			invite(other) // the earlier one has expired
			logged(other, audit.InvitationCreate, audit.InvitationCreate)
			_, third := s.invitation(t)
			invite(third)
			if err := s.Disable(t.Context(), audit.System("test"), s.ada.ID); err != nil {
				t.Fatal(err)
			}
			logged(one, audit.InvitationCreate, audit.InvitationRevoke, audit.InvitationCreate) // expired by then
			logged(other, audit.InvitationCreate, audit.InvitationCreate, audit.InvitationRevoke)
			logged(third, audit.InvitationCreate, audit.InvitationRevoke, audit.InvitationCreate, audit.InvitationRevoke)
		})
	}
}

// TestInvitationAnswersAlike: an invitation takes the password of an account as it takes a new one, for the same work;
// and a wrong password is refused as at the log-in, whatever the account has.
func TestInvitationAnswersAlike(t *testing.T) {
	t.Parallel()
	const other = "some wrong owls under a moon"
	for name, url := range dbtest.URLs(t) {
		t.Run(name, func(t *testing.T) {
			for _, row := range []struct {
				name, email, password string
				err                   error
				second, kept          bool // asks for the second factor; keeps the invitation
			}{
				{name: "a new user", email: "new@shop.example", password: passphrase},
				{name: "an account", email: "ada@shop.example", password: passphrase},
				{name: "an account, other letters", email: " Ada@Shop.example", password: passphrase},
				{name: "an account with an app", email: "app@shop.example", password: passphrase, second: true, kept: true},
				{name: "a member", email: "member@shop.example", password: passphrase, kept: true},
				{name: "a wrong password", email: "ada@shop.example", password: other, err: account.ErrWrongLogin, kept: true},
				{name: "a wrong password beside an app", email: "app@shop.example", password: other, err: account.ErrWrongLogin,
					kept: true},
				{name: "no password", email: "passkey@shop.example", password: passphrase, err: account.ErrWrongLogin, kept: true},
				{name: "disabled", email: "disabled@shop.example", password: passphrase, err: account.ErrWrongLogin, kept: true},
			} {
				s := share(t, url(t), nil)
				token, into := s.invitation(t)
				phc := hash(t, account.Little)
				s.add(t, account.User{Email: "app@shop.example", Password: phc, TOTP: []byte("sealed")})
				s.add(t, account.User{Email: "member@shop.example", Password: phc}, into)
				s.add(t, account.User{Email: "passkey@shop.example"})
				s.add(t, account.User{Email: "disabled@shop.example", Password: phc, DisabledAt: &s.now})
				work := 0
				account.Watch(s.Service, func(account.Derivation) { work++ })
				signed, err := s.accept(token, row.email, row.password)
				if !errors.Is(err, row.err) || (signed.Second != "") != row.second ||
					(signed.Login != "") != (row.err == nil && !row.second) {
					t.Errorf("%s: %v, %+v", row.name, err, signed)
				}
				if work != 1 {
					t.Errorf("%s: %d passwords hashed", row.name, work)
				}
				if _, err := s.Link(t.Context(), token); (err == nil) != row.kept {
					t.Errorf("%s: the invitation: %v", row.name, err)
				}
				user, err := s.db.UserByEmail(t.Context(), strings.ToLower(strings.TrimSpace(row.email)))
				if err != nil {
					t.Fatal(err)
				}
				if _, err = s.db.Membership(t.Context(), into, user.ID); (err == nil) != (row.err == nil && !row.second) {
					t.Errorf("%s: the membership: %v", row.name, err)
				}
			}
		})
	}
}

// TestInvitationTakenMeanwhile: whose address is taken while their password is
// hashed hears nothing else than those who came later, and the invitation stays.
func TestInvitationTakenMeanwhile(t *testing.T) {
	t.Parallel()
	for name, url := range dbtest.URLs(t) {
		t.Run(name, func(t *testing.T) {
			s := share(t, url(t), nil)
			token, _ := s.invitation(t)
			account.Watch(s.Service, func(account.Derivation) { s.add(t, account.User{Email: "bob@shop.example"}) })
			if _, err := s.accept(token, "bob@shop.example", passphrase); !errors.Is(err, account.ErrWrongLogin) {
				t.Errorf("taken meanwhile: %v", err)
			}
			if _, err := s.Link(t.Context(), token); err != nil {
				t.Errorf("the invitation: %v", err)
			}
		})
	}
}

// making makes passkeys without looking.
type making struct{ credulous }

func (m making) CreateOptions(challenge []byte, _ account.User, _ []account.Passkey) (string, error) {
	return m.GetOptions(challenge, nil)
}

func (making) Created(_ []byte, userID uuid.UUID, _ string) (account.Passkey, error) {
	return account.Passkey{UserID: userID, CredentialID: []byte("made"), PublicKey: []byte("key"),
		AAGUID: make([]byte, 16)}, nil
}

// TestInvitationByPasskey: a new passkey for an address that has an account is refused as a wrong password is.
func TestInvitationByPasskey(t *testing.T) {
	t.Parallel()
	for name, url := range dbtest.URLs(t) {
		t.Run(name, func(t *testing.T) {
			s := share(t, url(t), making{})
			token, _ := s.invitation(t)
			by := func(email string) error {
				made, err := s.SetUpOptions()
				if err != nil {
					t.Fatal(err)
				}
				_, err = s.Accept(t.Context(), token,
					account.Person{Name: "Bob", Email: email, Factor: account.Factor{Passkey: made}}, account.Browser{})
				return err
			}
			if err := by(s.ada.Email); !errors.Is(err, account.ErrWrongLogin) {
				t.Errorf("for an account: %v", err)
			}
			if err := by("bob@shop.example"); err != nil {
				t.Errorf("for nobody's address: %v", err)
			}
		})
	}
}
