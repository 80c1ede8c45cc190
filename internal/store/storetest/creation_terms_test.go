package storetest

import (
	"testing"
	"time"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/tenant"
)

// TestNothingIsCreatedOnOtherTerms: sessions made on terms that differ from the
// tenant's in one field are not created, whatever pays for them.
func TestNothingIsCreatedOnOtherTerms(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		addCredit(t, s, owner.ID, 1)
		limits := [2]int64{7, 8}
		for range 2 { // without limits of the tenant's own, then with them
			for name, change := range map[string]func(*tenant.Terms){
				"Success URL": func(t *tenant.Terms) { t.SuccessURL += "/" },
				"Cancel URL":  func(t *tenant.Terms) { t.CancelURL += "/" },
				"Webhook URL": func(t *tenant.Terms) { t.WebhookURL += "/" },
				"free checks": func(t *tenant.Terms) { t.FreeChecks = new(int64(9)) },
				"test cap":    func(t *tenant.Terms) { t.TestCap = new(int64(9)) },
				"both limits": func(t *tenant.Terms) {
					if t.FreeChecks, t.TestCap = nil, nil; owner.FreeChecks == nil {
						t.FreeChecks, t.TestCap = &limits[0], &limits[1]
					}
				},
			} {
				terms := owner.Terms()
				change(&terms)
				for _, of := range []billing.Terms{
					{Livemode: false, Period: "2026-03-10", Limit: 1},
					{Livemode: true, Period: "2026-03", Limit: 1},
					{Livemode: true, Period: "2026-03", Limit: 0}, // paid from the credit
				} {
					of.TenantID = owner.ID
					made := newSessions(t, owner, 1)
					withKey := claim(owner.ID, "key", "request", made[0].ID, start.Add(time.Hour))
					if buy(t, s, terms, of, made) != 0 || buy(t, s, terms, of, made, withKey) != 0 {
						t.Errorf("%s differs, and a session was created on %+v", name, of)
					}
				}
			}
			var err error
			owner, err = s.UpdateTenant(t.Context(), owner.ID, tenant.Changes{FreeChecks: &limits[0], TestCap: &limits[1]},
				anAct)
			if err != nil {
				t.Fatal(err)
			}
		}
		last := billing.Terms{TenantID: owner.ID, Livemode: true, Period: "2026-03", Limit: 1}
		if buy(t, s, owner.Terms(), last, newSessions(t, owner, 1)) != 1 {
			t.Error("nothing was created on the tenant's own terms")
		}
	})
}
