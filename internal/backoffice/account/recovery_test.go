package account_test

import (
	"slices"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/audit"
	"agegate/internal/store/dbtest"
)

// TestTenantsSeeWhatOperatorsDoWithAccounts: the log of each of a user's tenants says that an operator made or revoked
// a recovery link for the user, that it was used, and that the account was disabled or enabled. The instance's log says
// so once, other tenants' say nothing, and all chains hold.
func TestTenantsSeeWhatOperatorsDoWithAccounts(t *testing.T) {
	t.Parallel()
	for name, url := range dbtest.URLs(t) {
		t.Run(name, func(t *testing.T) {
			s := share(t, url(t), nil)
			ctx, operator := t.Context(), audit.Operator(s.ada.ID, s.ada.Name)
			_, one := s.invitation(t)
			_, two := s.invitation(t)
			_, stranger := s.invitation(t)
			s.add(t, account.User{Email: "bob@shop.example", Password: hash(t, account.Little)}, one, two)
			bob, err := s.UserByEmail(ctx, "bob@shop.example")
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(err)
			_, err = s.NewRecoveryLink(ctx, operator, bob.ID)
			must(err)
			open, err := s.UserLinks(ctx)
			must(err)
			must(s.RevokeUserLink(ctx, operator, open[0].ID()))
			address, err := s.NewRecoveryLink(ctx, operator, bob.ID)
			must(err)
			_, err = s.Recover(ctx, address[strings.LastIndex(address, "/")+1:], account.Factor{Password: passphrase},
				account.Browser{})
			must(err)
			must(s.Disable(ctx, operator, bob.ID))
			must(s.Enable(ctx, operator, bob.ID))

			done := []audit.Action{audit.UserRecoveryLink, audit.UserLinkRevoke, audit.UserRecoveryLink, audit.UserRecover,
				audit.UserDisable, audit.UserEnable}
			invited := []audit.Action{audit.TenantCreate, audit.InvitationCreate}
			for scope, want := range map[audit.Scope][]audit.Action{
				audit.OfTenant(one): slices.Concat(invited, done), audit.OfTenant(two): slices.Concat(invited, done),
				audit.OfTenant(stranger): invited, audit.Instance: done,
			} {
				entries, err := s.db.AuditChain(ctx, scope, 0, audit.MaxPage)
				must(err)
				var got []audit.Action
				for _, e := range entries {
					got = append(got, e.Action)
					by := map[bool]audit.Actor{false: operator, true: audit.User(bob.ID, bob.Name)}[e.Action == audit.UserRecover]
					role := map[bool]string{true: string(account.Viewer)}[scope != audit.Instance]
					if slices.Contains(done, e.Action) &&
						(e.Actor != by || e.Target != bob.ID.String() || e.Details().Params["role"] != role) {
						t.Errorf("%s: %+v", scope, e)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s has %v, want %v", scope, got, want)
				}
				_, err = audit.Verify(ctx, s.db, scope)
				must(err)
			}
		})
	}
}
