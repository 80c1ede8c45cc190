package account_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/credential"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

const passphrase = "four owls under a blue moon"

// countingStore counts the database calls of a log-in.
type countingStore struct {
	account.Store
	calls []string
}

func (s *countingStore) UserByEmail(ctx context.Context, email string) (account.User, error) {
	s.calls = append(s.calls, "user")
	return s.Store.UserByEmail(ctx, email)
}

func (s *countingStore) UpdateAccounts(ctx context.Context, fn func(account.Tx) error) error {
	s.calls = append(s.calls, "update")
	return s.Store.UpdateAccounts(ctx, fn)
}

// TestLogInCostsTheSame: the time of a refusal does not reveal whether the address is known, or whether the user has a
// password or a second factor. The test counts expensive operations, because measured times mean little on a busy
// machine.
func TestLogInCostsTheSame(t *testing.T) {
	t.Parallel()
	db, phc := &countingStore{Store: dbtest.Open(t, dbtest.URLs(t)["sqlite"](t))}, hash(t, account.Full.Memory)
	now := time.Now().UTC().Truncate(time.Microsecond)
	for name, user := range map[string]account.User{
		"known": {Password: phc}, "app": {Password: phc, TOTP: []byte("sealed")}, "passkey": {},
		"disabled": {Password: phc, DisabledAt: &now},
	} {
		user.ID, user.Name, user.Email, user.CreatedAt = uuid.Must(uuid.NewV7()), name, name+"@shop.example", now
		if err := db.Store.UpdateAccounts(t.Context(), func(tx account.Tx) error { return tx.InsertUser(user) }); err != nil {
			t.Fatal(err)
		}
	}
	sealer, err := credential.NewSealer(make([]byte, credential.SecretLen), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	service := account.NewService(account.Config{Store: db, Sealer: sealer, Random: rand.Reader, Now: func() time.Time {
		now = now.Add(time.Second) // keeps the instance's limit out of this test
		return now
	}})
	var work []account.Derivation
	account.Watch(service, func(d account.Derivation) { work = append(work, d) })
	for _, tt := range []struct {
		name, password string
		refused        bool
	}{
		{"nobody", "wrong", true},
		{"nobody", passphrase, true},
		{"known", "wrong", true},
		{"app", "wrong", true},
		{"passkey", "wrong", true},
		{"passkey", "", true},
		{"disabled", "wrong", true},
		{"disabled", passphrase, true},
		{"known", passphrase, false},
		{"app", passphrase, false},
	} {
		work, db.calls = nil, nil
		_, err := service.LogIn(t.Context(), tt.name+"@shop.example", tt.password, account.Browser{})
		if refused := errors.Is(err, account.ErrWrongLogin); refused != tt.refused || err != nil && !refused {
			t.Errorf("%s with %q: %v", tt.name, tt.password, err)
		}
		if !slices.Equal(work, []account.Derivation{account.Full}) {
			t.Errorf("%s with %q: derived %+v, want once %+v", tt.name, tt.password, work, account.Full)
		}
		if got := fmt.Sprint(db.calls); tt.refused && got != "[user update]" {
			t.Errorf("%s with %q: asked the database for %s", tt.name, tt.password, got)
		}
	}
}

// TestGuessingFromANetwork: the network's bucket stops a client that tries one password on many accounts. Other
// browsers of the network are not stopped if they have signed in before.
func TestGuessingFromANetwork(t *testing.T) {
	t.Parallel()
	for name, url := range dbtest.URLs(t) {
		t.Run(name, func(t *testing.T) {
			db, phc, now := dbtest.Open(t, url(t)), hash(t, account.Little), time.Now().UTC().Truncate(time.Microsecond)
			sealer, err := credential.NewSealer(make([]byte, credential.SecretLen), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			service := account.NewService(account.Config{Store: db, Sealer: sealer, Random: rand.Reader,
				Now: func() time.Time { return now }, PasswordMemory: account.Little})
			ada := account.User{ID: uuid.Must(uuid.NewV7()), Name: "Ada", Email: "ada@shop.example", Password: phc,
				CreatedAt: now}
			if err := db.UpdateAccounts(t.Context(), func(tx account.Tx) error { return tx.InsertUser(ada) }); err != nil {
				t.Fatal(err)
			}
			known, err := service.LogIn(t.Context(), ada.Email, passphrase, account.Browser{})
			if err != nil {
				t.Fatal(err)
			}

			guesser := account.NewService(account.Config{Store: db, Sealer: sealer, Random: rand.Reader,
				Now: func() time.Time { return now }})
			account.Cheapen(guesser)
			office := account.Browser{Network: netip.MustParsePrefix("203.0.113.0/24")}
			guess := func(email string, b account.Browser) error {
				_, err := guesser.LogIn(t.Context(), email, passphrase, b)
				return err
			}
			for i := range account.NetworkChecks {
				now = now.Add(time.Second / 10)
				if err := guess(fmt.Sprint(i, "@shop.example"), office); !errors.Is(err, account.ErrWrongLogin) {
					t.Fatalf("guess %d: %v", i, err)
				}
			}
			early := (*account.ThrottleError)(nil)
			if err := guess("next@shop.example", office); !errors.As(err, &early) || early.Wait > account.NetworkWindow {
				t.Errorf("one guess more: %v", err)
			}
			if err := guess("next@shop.example", account.Browser{Network: netip.MustParsePrefix("198.51.100.0/24")}); !errors.Is(err, account.ErrWrongLogin) {
				t.Errorf("from another network: %v", err)
			}
			if _, err := service.LogIn(t.Context(), ada.Email, passphrase, office); !errors.As(err, &early) {
				t.Errorf("an unknown browser of the network: %v", err)
			}
			at := account.Browser{Device: known.Device, Network: office.Network}
			if _, err := service.LogIn(t.Context(), ada.Email, passphrase, at); err != nil {
				t.Errorf("a known browser of the network: %v", err)
			}
			now = now.Add(account.NetworkWindow)
			if _, err := service.LogIn(t.Context(), ada.Email, passphrase, office); err != nil {
				t.Errorf("after the wait: %v", err)
			}
		})
	}
}

func hash(t *testing.T, memory uint32) string {
	t.Helper()
	phc, err := account.Hash(t.Context(), memory, passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return phc
}
