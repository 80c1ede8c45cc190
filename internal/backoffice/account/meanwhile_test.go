package account_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/credential"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

// interrupted is a store in which something happens after a user was read.
type interrupted struct {
	account.Store
	meanwhile func()
}

func (s interrupted) UserByID(ctx context.Context, id uuid.UUID) (account.User, error) {
	user, err := s.Store.UserByID(ctx, id)
	s.meanwhile()
	return user, err
}

// credulous accepts any passkey.
type credulous struct{ account.PasskeyVerifier }

// GetOptions returns the response of a passkey.
func (credulous) GetOptions(challenge []byte, _ []account.Passkey) (string, error) {
	text := base64.RawURLEncoding
	client := fmt.Sprintf(`{"challenge":%q}`, text.EncodeToString(challenge))
	return fmt.Sprintf(`{"rawId":%q,"response":{"clientDataJSON":%q}}`, text.EncodeToString([]byte("key")),
		text.EncodeToString([]byte(client))), nil
}

func (credulous) Got(_ []byte, key account.Passkey, _ string) (account.Passkey, error) {
	return key, nil
}

// TestLogInEndsWithWhatItProved: a log-in does not begin after its password was changed or its user was disabled, even
// if the password was right when it was checked.
func TestLogInEndsWithWhatItProved(t *testing.T) {
	t.Parallel()
	const code = "ABCD-EFGH-JKMN"
	changes := map[string]func(tx account.Tx, ada account.User) error{
		"nothing": func(account.Tx, account.User) error { return nil },
		"password": func(tx account.Tx, ada account.User) error {
			return tx.SetUser(account.User{ID: ada.ID, Password: "another PHC string"}, "Password")
		},
		"disabled": func(tx account.Tx, ada account.User) error {
			_, err := tx.SetDisabled(ada.ID, &ada.CreatedAt)
			return err
		},
	}
	for _, tt := range []struct {
		by, change string
		want       error
	}{
		{"password", "nothing", nil}, {"password", "password", account.ErrWrongLogin},
		{"password", "disabled", account.ErrWrongLogin},
		{"code", "nothing", nil}, {"code", "password", account.ErrStartAgain}, {"code", "disabled", account.ErrStartAgain},
		{"passkey", "nothing", nil}, {"passkey", "disabled", account.ErrPasskey},
	} {
		for name, url := range dbtest.URLs(t) {
			t.Run(tt.by+", "+tt.change+", "+name, func(t *testing.T) {
				db, now := dbtest.Open(t, url(t)), time.Now().UTC().Truncate(time.Microsecond)
				sealer, err := credential.NewSealer(make([]byte, credential.SecretLen), rand.Reader)
				if err != nil {
					t.Fatal(err)
				}
				ada := account.User{ID: uuid.Must(uuid.NewV7()), Name: "Ada", Email: "ada@shop.example",
					Password:  hash(t, account.Little),
					CreatedAt: now}
				if tt.by == "code" {
					if ada.TOTP, err = sealer.Seal(make([]byte, 20), "totp "+ada.ID.String()); err != nil {
						t.Fatal(err)
					}
				}
				err = db.UpdateAccounts(t.Context(), func(tx account.Tx) error {
					return errors.Join(tx.InsertUser(ada), tx.ReplaceCodes(ada.ID, [][]byte{credential.HashToken("ABCDEFGHJKMN")}),
						tx.InsertPasskey(account.Passkey{
							ID: ada.ID, UserID: ada.ID, CredentialID: []byte("key"), PublicKey: []byte("key"), AAGUID: make([]byte, 16),
							CreatedAt: now,
						}))
				})
				if err != nil {
					t.Fatal(err)
				}
				meanwhile := func() {
					if err := db.UpdateAccounts(t.Context(),
						func(tx account.Tx) error { return changes[tt.change](tx, ada) }); err != nil {
						t.Error(err)
					}
				}
				service := account.NewService(account.Config{
					Store: interrupted{db, meanwhile}, Sealer: sealer, Random: rand.Reader, Now: func() time.Time { return now },
					Passkeys: credulous{}, PasswordMemory: account.Little,
				})
				if tt.by == "password" {
					account.Watch(service, func(account.Derivation) { meanwhile() })
				}

				var signed account.Signed
				if tt.by == "passkey" {
					response, _ := service.LogInOptions()
					signed, err = service.LogInByPasskey(t.Context(), response, account.Browser{})
				} else {
					signed, err = service.LogIn(t.Context(), ada.Email, passphrase, account.Browser{})
				}
				if tt.by == "code" {
					signed, err = service.LogInSecond(t.Context(), signed.Second, code, account.Browser{})
				}
				if !errors.Is(err, tt.want) || tt.want == nil && signed.Login == "" {
					t.Errorf("signed in: %v, %v", signed.Login != "", err)
				}
				logins, err := db.LoginsOf(t.Context(), ada.ID, now)
				if left := len(logins); err != nil || left != map[bool]int{true: 1}[tt.want == nil] {
					t.Errorf("%d log-ins, %v", left, err)
				}
			})
		}
	}
}
