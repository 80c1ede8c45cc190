package audit_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// TestEveryActIsInTheChain performs random acts on two tenants at the same time,
// some of which must fail. Each log grows by one entry for each act that
// succeeded, and its chain stays valid.
func TestEveryActIsInTheChain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		o := newFixture(t, db)
		owners := []uuid.UUID{o.hire(), o.hire()}
		ctx, nobody := t.Context(), uuid.New()
		name, bad := "New", ""
		acts := map[string]func(a audit.Actor, owner uuid.UUID) error{
			"update": func(a audit.Actor, owner uuid.UUID) error {
				_, err := o.tenants.Update(ctx, a, owner, tenant.Changes{Name: &name})
				return err
			},
			"update nothing": func(a audit.Actor, owner uuid.UUID) error {
				_, err := o.tenants.Update(ctx, a, owner, tenant.Changes{})
				return err
			},
			"update to no name": func(a audit.Actor, owner uuid.UUID) error {
				_, err := o.tenants.Update(ctx, a, owner, tenant.Changes{Name: &bad})
				return err
			},
			"disable": func(a audit.Actor, owner uuid.UUID) error { return o.tenants.SetDisabled(ctx, a, owner, true, "") },
			"enable":  func(a audit.Actor, owner uuid.UUID) error { return o.tenants.SetDisabled(ctx, a, owner, false, "") },
			"create a key": func(a audit.Actor, owner uuid.UUID) error {
				_, _, err := o.tenants.CreateKey(ctx, a, owner, false, "")
				return err
			},
			"revoke no key": func(a audit.Actor, owner uuid.UUID) error { return o.tenants.RevokeKey(ctx, a, owner, nobody) },
			"rotate": func(a audit.Actor, owner uuid.UUID) error {
				_, err := o.tenants.RotateWebhookSecret(ctx, a, owner, true, 0)
				return err
			},
			"stage": func(a audit.Actor, owner uuid.UUID) error {
				_, err := o.tenants.StageRedirectSecret(ctx, a, owner, true)
				return err
			},
			"promote": func(a audit.Actor, owner uuid.UUID) error {
				return o.tenants.PromoteRedirectSecret(ctx, a, owner, true)
			},
			"retire": func(a audit.Actor, owner uuid.UUID) error { return o.tenants.RetireRedirectSecret(ctx, a, owner, true) },
			"top up": func(a audit.Actor, owner uuid.UUID) error {
				_, err := billing.TopUp(ctx, db, a, owner, 1, "", now())
				return err
			},
			"top up nothing": func(a audit.Actor, owner uuid.UUID) error {
				_, err := billing.TopUp(ctx, db, a, owner, 0, "", now())
				return err
			},
			"resend all": func(a audit.Actor, owner uuid.UUID) error {
				_, err := o.webhooks.ResendFailedEvents(ctx, a, webhook.OfTenant(owner), now())
				return err
			},
			"delete no session": func(a audit.Actor, owner uuid.UUID) error { return o.records.Delete(ctx, a, owner, nobody) },
		}
		names := make([]string, 0, len(acts))
		for name := range acts {
			names = append(names, name)
		}
		slices.Sort(names)
		actors := []audit.Actor{audit.User(uuid.New(), "Zoë"), audit.System("test"), {Kind: audit.KindCLI}, {}}
		type step struct {
			act   string
			owner int
			actor audit.Actor
		}
		one := rapid.Custom(func(t *rapid.T) step {
			return step{rapid.SampledFrom(names).Draw(t, "act"), rapid.IntRange(0, 1).Draw(t, "tenant"),
				rapid.SampledFrom(actors).Draw(t, "actor")}
		})
		rapid.Check(t, func(r *rapid.T) {
			steps := rapid.SliceOfN(one, 1, 8).Draw(r, "steps")
			var before [2]audit.Head
			for i, owner := range owners {
				before[i], _ = audit.Verify(ctx, db, audit.OfTenant(owner))
			}
			var succeeded [2]atomic.Int64
			var all sync.WaitGroup
			for _, s := range steps {
				all.Go(func() {
					if acts[s.act](s.actor, owners[s.owner]) == nil {
						succeeded[s.owner].Add(1)
					}
				})
			}
			all.Wait()
			for i, owner := range owners {
				end, err := audit.Verify(ctx, db, audit.OfTenant(owner))
				if err != nil || end.Seq-before[i].Seq != succeeded[i].Load() {
					r.Fatalf("%d acts succeeded, the log went from %d to %d, %v", succeeded[i].Load(), before[i].Seq, end.Seq, err)
				}
			}
		})
	})
}
