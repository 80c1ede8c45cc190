package storetest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/certificate"
	"agegate/internal/backoffice/mail"
	"agegate/internal/check/document"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
)

// tenantsWithSecrets stores n tenants, oldest first, each with an active webhook
// and redirect secret.
func tenantsWithSecrets(t *testing.T, s Store, n int) []tenant.Tenant {
	t.Helper()
	var tenants []tenant.Tenant
	for range n {
		owner := tenant.Tenant{ID: id(t), Name: "Shop", CreatedAt: start}
		secrets := []tenant.Secret{secret(t, owner.ID, tenant.SecretWebhook, start),
			secret(t, owner.ID, tenant.SecretRedirect, start)}
		wantNoError(t, s.CreateTenant(t.Context(), owner, nil, secrets, anAct))
		tenants = append(tenants, owner)
	}
	return tenants
}

func TestSecretsArePagedFromTheNewestTenantToTheOldest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		tenants := tenantsWithSecrets(t, s, 3)
		// A rotated secret of the oldest tenant: its time is later, its order is
		// not.
		rotated := secret(t, tenants[0].ID, tenant.SecretWebhook, start.Add(time.Hour))
		wantNoError(t, s.RotateSecret(t.Context(), rotated, start.Add(2*time.Hour), anAct))
		read := func(now time.Time, limit int) (got []tenant.Secret) {
			last := tenant.Secret{TenantID: uuid.Max, ID: uuid.Max}
			for {
				page, err := s.SecretsBefore(t.Context(), last.TenantID, last.ID, now, limit)
				wantNoError(t, err)
				if len(page) == 0 {
					return got
				}
				got, last = append(got, page...), page[len(page)-1]
			}
		}
		for _, limit := range []int{1, 2, 100} {
			got := read(start, limit)
			if len(got) != 7 || !slices.IsSortedFunc(got, func(a, b tenant.Secret) int {
				return bytes.Compare(slices.Concat(b.TenantID[:], b.ID[:]), slices.Concat(a.TenantID[:], a.ID[:]))
			}) || got[0].TenantID != tenants[2].ID || got[6].TenantID != tenants[0].ID {
				t.Errorf("in pages of %d: %d secrets: %v", limit, len(got), got)
			}
		}
		if got := read(start.Add(2*time.Hour), 100); len(got) != 6 {
			t.Errorf("%d secrets, want 6 without the expired one", len(got))
		}
	})
}

func TestOuterSecrets(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		var owners []uuid.UUID
		for range 3 {
			owner := tenant.Tenant{ID: id(t), Name: "Shop", CreatedAt: start}
			var secrets []tenant.Secret
			for _, livemode := range []bool{false, true} {
				for _, kind := range []tenant.SecretKind{tenant.SecretWebhook, tenant.SecretRedirect} {
					row := secret(t, owner.ID, kind, start)
					row.Livemode = livemode
					secrets = append(secrets, row)
				}
			}
			wantNoError(t, s.CreateTenant(t.Context(), owner, nil, secrets, anAct))
			owners = append(owners, owner.ID)
		}
		wantNoError(t, s.RotateSecret(t.Context(), secret(t, owners[0], tenant.SecretWebhook, start), start.Add(time.Hour),
			anAct))
		staged := secret(t, owners[2], tenant.SecretRedirect, start)
		staged.State = tenant.SecretStaged
		wantNoError(t, s.StageSecret(t.Context(), staged, anAct))
		outer, err := s.OuterSecrets(t.Context())
		wantNoError(t, err)
		count := map[uuid.UUID]int{}
		for _, o := range outer {
			count[o.TenantID]++
			if o.State != tenant.SecretActive {
				t.Errorf("a secret that is %s", o.State)
			}
		}
		if want := map[uuid.UUID]int{owners[0]: 4, owners[2]: 4}; !reflect.DeepEqual(count, want) {
			t.Errorf("secrets by tenant: %v, want %v", count, want)
		}
	})
}

func TestOuterSecretsOfNobody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		if outer, err := s.OuterSecrets(t.Context()); err != nil || len(outer) != 0 {
			t.Errorf("OuterSecrets = %v, %v", outer, err)
		}
	})
}

func TestASealedValueIsReplacedOnlyWhileItIsTheStoredOne(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := tenantsWithSecrets(t, s, 1)[0]
		stored, err := s.SecretsBefore(t.Context(), uuid.Max, uuid.Max, start, 10)
		wantNoError(t, err)
		stale := stored[1]
		stale.Sealed = sealed("x")
		n, err := s.ReplaceSealed(t.Context(),
			[]tenant.ResealedSecret{{Secret: stored[0], Next: sealed("n")}, {Secret: stale, Next: sealed("n")}}, nil)
		if err != nil || n != 1 {
			t.Errorf("replaced %d, %v", n, err)
		}
		after, err := s.SecretsBefore(t.Context(), uuid.Max, uuid.Max, start, 10)
		if err != nil || !bytes.Equal(after[0].Sealed, sealed("n")) || !bytes.Equal(after[1].Sealed, sealed("s")) {
			t.Errorf("after it: %v, %v", after, err)
		}
		if after[0].State != stored[0].State || after[0].TenantID != owner.ID {
			t.Errorf("more than the sealed value changed: %v", after[0])
		}
		if n, err := s.ReplaceSealed(t.Context(), nil, nil); n != 0 || err != nil {
			t.Errorf("replacing nothing: %d, %v", n, err)
		}
	})
}

// sealerOf returns a sealer whose keys are made of these bytes. The first one seals.
func sealerOf(t *testing.T, random io.Reader, keys ...byte) *credential.Sealer {
	t.Helper()
	var previous [][]byte
	for _, k := range keys[1:] {
		previous = append(previous, bytes.Repeat([]byte{k}, credential.SecretLen))
	}
	s, err := credential.NewSealer(bytes.Repeat(keys[:1], credential.SecretLen), random, previous...)
	wantNoError(t, err)
	return s
}

// Of each column, the value under the old key is resealed. Those under the new key and
// under no key of the sealer stay.
func TestReseal(t *testing.T) {
	t.Parallel()
	const before, after, strange = 1, 2, 3
	for name, tt := range map[string]struct {
		column  store.SealedColumn
		context func(string) string
		put     func(t *testing.T, s Store, id uuid.UUID, sealed []byte)
	}{
		"authenticator apps": {store.AuthenticatorSecrets, account.TOTPContext,
			func(t *testing.T, s Store, id uuid.UUID, sealed []byte) {
				inAccounts(t, s, func(tx account.Tx) error {
					return errors.Join(tx.InsertUser(account.User{ID: id, Email: id.String(), Name: "Ada", CreatedAt: start}),
						tx.SetUser(account.User{ID: id, TOTP: sealed, TOTPStep: 5}, "TOTP", "TOTPStep"))
				})
			}},
		"keys of verifiers": {store.VerifierKeys, document.VerifierContext,
			func(t *testing.T, s Store, id uuid.UUID, sealed []byte) {
				wantNoError(t, s.AddVerifier(t.Context(), document.VerifierKey{ID: id, Role: document.RoleVerifier, Name: "Shop",
					Sealed: sealed, State: document.VerifierPending, CreatedAt: start}, anAct))
			}},
		"mails": {store.WaitingMails, mail.SealContext,
			func(t *testing.T, s Store, id uuid.UUID, sealed []byte) {
				inAccounts(t, s, func(tx account.Tx) error {
					return tx.InsertMail(mail.Mail{ID: id, Kind: mail.Recovery, Sealed: sealed, CreatedAt: start, DueAt: start,
						ExpiresAt: start})
				})
			}},
		"keys of certificates": {store.CertificateKeys, certificate.SealContext,
			func(t *testing.T, s Store, id uuid.UUID, sealed []byte) {
				wantNoError(t, s.SaveCertificate(t.Context(), certificate.Certificate{Name: id.String(), Sealed: sealed}))
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s Store) {
				for _, key := range []byte{before, after, strange} {
					id := id(t)
					sealed, err := sealerOf(t, rand.Reader, key).Seal([]byte("secret"), tt.context(id.String()))
					wantNoError(t, err)
					tt.put(t, s, id, sealed)
				}
				for _, step := range []struct {
					keys []byte
					want credential.Resealing
				}{
					{[]byte{after, before}, credential.Resealing{Resealed: 1, Already: 1, Unopened: 1}},
					{[]byte{after}, credential.Resealing{Already: 2, Unopened: 1}},
					{[]byte{strange}, credential.Resealing{Already: 1, Unopened: 2}},
				} {
					got, err := s.Reseal(t.Context(), tt.column, sealerOf(t, rand.Reader, step.keys...))
					if err != nil || got != step.want {
						t.Errorf("with the keys %v: %+v, %v", step.keys, got, err)
					}
				}
			})
		})
	}
}

// readerFunc is a source of zeroes that calls itself at each read.
type readerFunc func()

func (f readerFunc) Read(p []byte) (int, error) {
	f()
	return len(p), nil
}

// A value that another transaction changes while it is resealed keeps that change. A
// column that is NULL is skipped.
func TestResealOverwritesNoChange(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		old, err := sealerOf(t, rand.Reader, 1).Seal([]byte("secret"), certificate.SealContext("a.example"))
		wantNoError(t, err)
		for _, c := range []certificate.Certificate{{Name: "a.example", Sealed: old}, {Name: "b.example"}} {
			wantNoError(t, s.SaveCertificate(t.Context(), c))
		}
		renewed := readerFunc(func() {
			wantNoError(t, s.SaveCertificate(t.Context(), certificate.Certificate{Name: "a.example", Sealed: sealed("n")}))
		})
		done, err := s.Reseal(t.Context(), store.CertificateKeys, sealerOf(t, renewed, 2, 1))
		if err != nil || done != (credential.Resealing{}) {
			t.Errorf("%+v, %v", done, err)
		}
		got, err := s.Certificates(t.Context())
		if err != nil || len(got) != 2 || !bytes.Equal(got[0].Sealed, sealed("n")) || got[1].Sealed != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// claims stores the key's claims of both tenants in both modes.
func claims(t *testing.T, s Store, owners [2]tenant.Tenant, key string, expiresAt time.Time) {
	t.Helper()
	inTx(t, s, func(tx session.Tx) error {
		for _, owner := range owners {
			for _, livemode := range []bool{false, true} {
				c := claim(owner.ID, key, "request", id(t), expiresAt)
				c.Livemode = livemode
				if _, _, err := tx.ClaimIdempotencyKey(c, start); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func TestClaimsArePagedAndTheirLinksReplaced(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owners := [2]tenant.Tenant{newTenant(t, s), newTenant(t, s)}
		for _, key := range []string{"a", "b", "c"} {
			claims(t, s, owners, key, start.Add(time.Hour))
		}
		claims(t, s, owners, "gone", start)
		const want = 3 * 2 * 2
		for _, limit := range []int{1, 5, 100} {
			seen := map[uuid.UUID]bool{}
			last := session.IdempotencyClaim{KeyHash: []byte{}}
			for {
				page, err := s.ClaimsAfter(t.Context(), last, start, limit)
				wantNoError(t, err)
				if len(page) == 0 {
					break
				}
				for _, c := range page {
					seen[c.SessionID] = true
				}
				last = page[len(page)-1]
			}
			if len(seen) != want {
				t.Errorf("in pages of %d: %d claims, want %d", limit, len(seen), want)
			}
		}
		page, err := s.ClaimsAfter(t.Context(), session.IdempotencyClaim{KeyHash: []byte{}}, start, 2)
		wantNoError(t, err)
		stale := page[1]
		stale.SealedLink = sealed("x")
		n, err := s.ReplaceSealedLinks(t.Context(),
			[]session.ResealedClaim{{IdempotencyClaim: page[0], Next: sealed("n")},
				{IdempotencyClaim: stale, Next: sealed("n")}})
		if err != nil || n != 1 {
			t.Errorf("replaced %d, %v", n, err)
		}
		after, err := s.ClaimsAfter(t.Context(), session.IdempotencyClaim{KeyHash: []byte{}}, start, 100)
		if err != nil || !bytes.Equal(after[0].SealedLink, sealed("n")) ||
			!bytes.Equal(after[1].SealedLink, sealed("link")) || !bytes.Equal(after[2].SealedLink, sealed("link")) {
			t.Errorf("after it: %v", err)
		}
	})
}
