package store_test

import (
	"errors"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

// TestProvidersOfTenantsGo: the accounts that tenants' own providers made go with all that
// is theirs, and every other account stays.
func TestProvidersOfTenantsGo(t *testing.T) {
	for name, url := range dbtest.URLs(t) {
		t.Run(name, func(t *testing.T) {
			ctx, s, now := t.Context(), open(t, url(t)), time.Now().UTC()
			shop := uuid.New()
			if err := s.CreateTenant(ctx, tenant.Tenant{ID: shop, Name: "Shop", CreatedAt: now}, nil, nil,
				audit.Act{Scope: audit.Instance, At: now, Actor: audit.System("test"), Action: audit.TenantCreate}); err != nil {
				t.Fatal(err)
			}
			own, instance, managed := uuid.New(), uuid.New(), uuid.New()
			fill := func(tx account.Tx) (err error) {
				for _, u := range []account.User{
					{ID: own, Email: "ada@shop.example"},
					{ID: instance, Email: "ada@shop.example", Issuer: "https://id.example", Subject: "ada"},
					{ID: managed, Email: "ada@shop.example", Issuer: "https://shop.example", Subject: "ada"},
				} {
					u.Name, u.CreatedAt = "Ada", now
					err = errors.Join(err, tx.InsertUser(u),
						tx.InsertMembership(account.Membership{TenantID: shop, UserID: u.ID, Role: account.Owner, CreatedAt: now}),
						tx.InsertLogin(account.Login{Hash: hashOf(u.ID), UserID: u.ID, Methods: []account.Method{account.ByProvider},
							CreatedAt: now, SeenAt: now, EndsAt: now.Add(time.Hour)}),
						tx.InsertLink(account.Link{Hash: hashOf(u.ID), Kind: account.LinkInvitation, TenantID: &shop,
							Role: account.Viewer, CreatedBy: &u.ID, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}))
				}
				return err
			}
			if err := s.UpdateAccounts(ctx, fill); err != nil {
				t.Fatal(err)
			}
			if err := s.MigrateTo(ctx, 81); err != nil {
				t.Fatal(err)
			}
			if err := s.Update(ctx, func(tx *store.Tx) error {
				return errors.Join(tx.Exec("UPDATE users SET managed_by = ? WHERE id = ?", shop, managed),
					tx.Exec(`INSERT INTO providers (tenant_id, name, issuer, client_id, sealed, groups_claim, grants, required)
						VALUES (?, 'ID', 'https://shop.example', 'gate', ?, 'groups', '[]', true)`, shop, []byte("sealed")))
			}); err != nil {
				t.Fatal(err)
			}
			if err := s.MigrateTo(ctx, 82); err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"users", "memberships", "logins", "links"} {
				if err := s.Update(ctx, func(tx *store.Tx) error {
					n, err := tx.Count("SELECT count(*) FROM " + table)
					if n != 2 {
						t.Errorf("%d %s are left, want 2", n, table)
					}
					return err
				}); err != nil {
					t.Error(err)
				}
			}
			if _, err := s.UserByID(ctx, managed); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("the provider's user: %v", err)
			}
			if u, err := s.UserByProvider(ctx, "https://id.example", "ada"); err != nil || u.ID != instance {
				t.Errorf("the instance's user: %v, %v", u.ID, err)
			}
		})
	}
}

func hashOf(id uuid.UUID) []byte { return append(id[:], id[:]...) }
