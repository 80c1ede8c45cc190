package account_test

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

// refusing accepts no passkey, and counts the checks.
type refusing struct {
	credulous
	asked *int
}

func (r refusing) Got([]byte, account.Passkey, string) (account.Passkey, error) {
	*r.asked++
	return account.Passkey{}, account.ErrPasskey
}

// sharing is a service with one user and a clock that stands still.
type sharing struct {
	*account.Service
	db  *store.Store
	ada account.User
	now time.Time
}

func share(t *testing.T, url string, passkeys account.PasskeyVerifier) *sharing {
	t.Helper()
	s := &sharing{db: dbtest.Open(t, url), now: time.Now().UTC().Truncate(time.Microsecond)}
	sealer, err := credential.NewSealer(make([]byte, credential.SecretLen), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s.Service = account.NewService(account.Config{
		Store: s.db, Sealer: sealer, Random: rand.Reader, Now: func() time.Time { return s.now }, Passkeys: passkeys,
		PasswordMemory: account.Little,
	})
	s.ada = account.User{ID: uuid.Must(uuid.NewV7()), Name: "Ada", Email: "ada@shop.example",
		Password:  hash(t, account.Little),
		CreatedAt: s.now}
	err = s.db.UpdateAccounts(t.Context(), func(tx account.Tx) error {
		return errors.Join(tx.InsertUser(s.ada), tx.InsertPasskey(account.Passkey{
			ID: s.ada.ID, UserID: s.ada.ID, CredentialID: []byte("key"), PublicKey: []byte("key"), AAGUID: make([]byte, 16),
			CreatedAt: s.now,
		}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStrangersLockNobodyOut: failed log-ins with invented addresses use up the share of unknown browsers, but not that
// of a browser in which the user has signed in. That browser has its own limit, in whatever form its cookie is sent.
func TestStrangersLockNobodyOut(t *testing.T) {
	t.Parallel()
	for name, url := range dbtest.URLs(t) {
		t.Run(name, func(t *testing.T) {
			s := share(t, url(t), nil)
			signed, err := s.LogIn(t.Context(), s.ada.Email, passphrase, account.Browser{})
			if err != nil {
				t.Fatal(err)
			}
			s.now = s.now.Add(2 * time.Second)
			work := 0
			account.Watch(s.Service, func(account.Derivation) { work++ })
			early := (*account.ThrottleError)(nil)
			for i := range 2 * account.ChecksASecond {
				_, err := s.LogIn(t.Context(), fmt.Sprint(i, "@made.up"), "wrong", account.Browser{})
				if refused := errors.As(err, &early); refused != (i >= account.ChecksASecond) {
					t.Fatalf("made-up log-in %d: %v", i, err)
				}
			}
			if work != account.ChecksASecond {
				t.Errorf("%d passwords hashed for strangers, want %d", work, account.ChecksASecond)
			}
			known := account.Browser{Device: signed.Device}
			for i := range account.OwnChecks {
				if _, err := s.LogIn(t.Context(), s.ada.Email, passphrase, known); err != nil {
					t.Fatalf("the user's own browser, log-in %d: %v", i, err)
				}
			}
			if _, err := s.LogIn(t.Context(), s.ada.Email, passphrase, known); !errors.As(err, &early) {
				t.Errorf("without a limit in the user's own browser: %v", err)
			}
		})
	}
}

// TestOneSpellingOfADevice: a device cookie in another spelling of the same bytes
// has no bucket of its own and opens nothing.
func TestOneSpellingOfADevice(t *testing.T) {
	t.Parallel()
	s := share(t, dbtest.URLs(t)["sqlite"](t), nil)
	signed, err := s.LogIn(t.Context(), s.ada.Email, passphrase, account.Browser{})
	if err != nil {
		t.Fatal(err)
	}
	account.Cheapen(s.Service)
	spellings := []string{signed.Device}
	raw, err := base64.RawURLEncoding.DecodeString(signed.Device)
	if err != nil {
		t.Fatal(err)
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := len(signed.Device) - 1
	for _, end := range alphabet {
		other := signed.Device[:last] + string(end)
		if b, err := base64.RawURLEncoding.DecodeString(other); err == nil && string(b) == string(raw) &&
			other != signed.Device {
			spellings = append(spellings, other)
		}
	}
	spellings = append(spellings, signed.Device[:4]+"\n"+signed.Device[4:], signed.Device[:9]+"\r"+signed.Device[9:])
	if len(spellings) < 3 {
		t.Fatal("there are no other spellings")
	}
	checked, early := 0, (*account.ThrottleError)(nil)
	for _, device := range spellings {
		for range account.FreeFailures + 1 {
			s.now = s.now.Add(time.Millisecond)
			_, err := s.LogIn(t.Context(), s.ada.Email, "wrong", account.Browser{Device: device})
			if errors.Is(err, account.ErrWrongLogin) {
				checked++
			} else if !errors.As(err, &early) {
				t.Fatal(err)
			}
		}
	}
	if most := 2 * account.FreeFailures; checked > most { // the device's and the account's
		t.Errorf("%d passwords tried with %d spellings of a cookie, want at most %d", checked, len(spellings), most)
	}
}

// TestPasskeyHasOneTry: a failure uses up the challenge, and failures of a passkey are limited like those of passwords.
func TestPasskeyHasOneTry(t *testing.T) {
	t.Parallel()
	for name, url := range dbtest.URLs(t) {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := share(t, url(t), refusing{asked: &asked})
			response, err := s.LogInOptions()
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, err := s.LogInByPasskey(t.Context(), response, account.Browser{}); !errors.Is(err, account.ErrPasskey) {
					t.Fatal(err)
				}
			}
			if asked != 1 {
				t.Errorf("one challenge was checked %d times", asked)
			}
			early := (*account.ThrottleError)(nil)
			for range 3 * account.FreeFailures {
				response, _ := s.LogInOptions()
				if _, err = s.LogInByPasskey(t.Context(), response, account.Browser{}); errors.As(err, &early) {
					break
				}
			}
			if !errors.As(err, &early) || asked != account.FreeFailures {
				t.Errorf("%d responses were checked, the last: %v", asked, err)
			}
		})
	}
}

// TestInvitationHashesLittle: who holds an invitation has a bounded number of
// tries, whether the address is taken or not, and each costs one hash.
func TestInvitationHashesLittle(t *testing.T) {
	t.Parallel()
	for name, url := range dbtest.URLs(t) {
		t.Run(name, func(t *testing.T) {
			s := share(t, url(t), nil)
			token, _ := s.invitation(t)
			work := 0
			account.Watch(s.Service, func(account.Derivation) { work++ })
			early := (*account.ThrottleError)(nil)
			for i := range account.LinkChecks {
				s.now = s.now.Add(20 * time.Second) // the account's limit is not what is tested
				if _, err := s.accept(token, s.ada.Email, "four wrong owls under a moon"); !errors.Is(err, account.ErrWrongLogin) {
					t.Fatalf("try %d: %v", i, err)
				}
			}
			for _, email := range []string{s.ada.Email, "free@shop.example"} {
				if _, err := s.accept(token, email, passphrase); !errors.As(err, &early) || fault.CodeOf(err) != fault.TooMany {
					t.Errorf("one try more: %v", err)
				}
			}
			if work != account.LinkChecks {
				t.Errorf("%d passwords hashed", work)
			}
			s.now = s.now.Add(early.Wait)
			if _, err := s.accept(token, "bob@shop.example", passphrase); err != nil || work != account.LinkChecks+1 {
				t.Errorf("after the wait: %v, %d hashed", err, work)
			}
		})
	}
}
