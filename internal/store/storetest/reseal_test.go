package storetest

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
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
