package account_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"agegate/internal/account"
	"agegate/internal/credential"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

const passphrase = "four owls under a blue moon"

// countingStore counts what a log-in asks of the database.
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

// TestLogInCostsTheSame: who is refused cannot tell from the time it took whether
// the address is known, has a password or a second factor. What takes time is
// counted, since a measured time says little on a busy machine.
func TestLogInCostsTheSame(t *testing.T) {
	db, phc := &countingStore{Store: dbtest.Open(t, dbtest.URLs(t)["sqlite"](t))}, hash(t)
	now := time.Now().UTC().Truncate(time.Microsecond)
	for name, user := range map[string]account.User{
		"known": {Password: phc}, "app": {Password: phc, TOTP: []byte("sealed")}, "passkey": {}, "disabled": {Password: phc, DisabledAt: &now},
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
		now = now.Add(time.Second) // the instance's limit is not what is tested
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

func hash(t *testing.T) string {
	t.Helper()
	phc, err := account.Hash(t.Context(), passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return phc
}
