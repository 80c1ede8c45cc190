package storetest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// TestTwins: two tenants of exactly the same name know of each other.
func TestTwins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		first, second := newTenant(t, s), newTenant(t, s)
		alone := first
		alone.Name = "bottle shop"
		for _, tt := range []struct {
			of   tenant.Tenant
			want bool
		}{{first, true}, {second, true}, {alone, false}} {
			if twin, err := s.HasTwin(t.Context(), tt.of); err != nil || twin != tt.want {
				t.Errorf("%s: %t, %v", tt.of.Name, twin, err)
			}
		}
	})
}

// TestUnfinishedAreCounted: open sessions are counted, and the end of the last one is known.
func TestUnfinishedAreCounted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		records, owner := s.(session.RecordStore), newTenant(t, s)
		if open, events, last, err := records.CountUnfinished(t.Context(), owner.ID, start); err != nil || open != 0 ||
			events != 0 || !last.IsZero() {
			t.Errorf("of none: %d, %d, %s, %v", open, events, last, err)
		}
		long := sessionOf(t, owner)
		long.ExpiresAt = stored(start.Add(time.Hour))
		inTx(t, s, func(tx session.Tx) error { return tx.InsertSessions(long) })
		newSession(t, s, owner)
		for now, want := range map[time.Time]int64{start: 2, start.Add(45 * time.Minute): 1} {
			open, events, last, err := records.CountUnfinished(t.Context(), owner.ID, now)
			if err != nil || open != want || events != 0 || !last.Equal(long.ExpiresAt) {
				t.Errorf("at %s: %d, %d, %s, %v", now, open, events, last, err)
			}
		}
	})
}

func TestTenantsAreFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		ids := map[string]uuid.UUID{}
		for i, name := range []string{"Wine & More", "WINE cellar", "100% wine_bar", "Beer!", "Vin d'Øl"} {
			row := tenant.Tenant{ID: id(t), Name: name, CreatedAt: start.Add(time.Duration(i) * time.Second)}
			wantNoError(t, s.CreateTenant(t.Context(), row, nil, nil, anAct))
			ids[name] = row.ID
		}
		for _, tt := range []struct {
			text  string
			limit int
			want  []string // oldest first
		}{
			{"wine", 10, []string{"Wine & More", "WINE cellar", "100% wine_bar"}},
			{"WINE", 2, []string{"Wine & More", "WINE cellar"}},
			{"%", 10, []string{"100% wine_bar"}},
			{"e_b", 10, []string{"100% wine_bar"}},
			{"!", 10, []string{"Beer!"}},
			{"'", 10, []string{"Vin d'Øl"}},
			{"Øl", 10, []string{"Vin d'Øl"}},
			{"' OR 1=1 --", 10, nil},
			{ids["Beer!"].String(), 10, []string{"Beer!"}},
			{strings.ToUpper(ids["Beer!"].String()), 10, []string{"Beer!"}},
			{ids["Beer!"].String()[30:], 10, []string{"Beer!"}}, {ids["Beer!"].String()[31:], 10, nil},
			{id(t).String(), 10, nil},
		} {
			found, err := s.FindTenants(t.Context(), tt.text, tt.limit)
			var names []string
			for _, f := range found {
				names = append(names, f.Name)
			}
			if err != nil || !reflect.DeepEqual(names, tt.want) {
				t.Errorf("%q: %q, %v, want %q", tt.text, names, err, tt.want)
			}
		}
	})
}

func TestUsersArePagedOldestFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		want := []account.User{newUser(t, s)}
		for _, email := range []string{"bob@shop.example", "cyd@shop.example"} {
			want = append(want, anotherUser(t, s, email))
		}
		var got []account.User
		for after := uuid.Nil; ; after = got[len(got)-1].ID {
			page, err := s.Users(t.Context(), after, 2)
			wantNoError(t, err)
			if got = append(got, page...); len(page) < 2 {
				break
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("users = %+v\nwant %+v", got, want)
		}
	})
}

func TestUsersAreFoundByNameOrAddress(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		bob, cyd := anotherUser(t, s, "bob_b@shop.example"), anotherUser(t, s, "cyd@shop.example")
		for _, tt := range []struct {
			text  string
			limit int
			want  []account.User
		}{
			{"SHOP.example", 10, []account.User{bob, cyd}},
			{"shop.example", 1, []account.User{bob}},
			{"b_b", 10, []account.User{bob}},
			{"d_s", 10, nil}, // no wildcard
			{"%", 10, nil},
		} {
			got, err := s.FindUsers(t.Context(), tt.text, tt.limit)
			if err != nil || len(got)+len(tt.want) > 0 && !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%q: %+v, %v, want %+v", tt.text, got, err, tt.want)
			}
		}
	})
}

func TestALoginLooksIntoATenant(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		shop, user, now, until := newTenant(t, s), newUser(t, s), stored(start), stored(start.Add(account.EntryTTL))
		for _, cookie := range []string{"one", "other"} {
			inAccounts(t, s, func(tx account.Tx) error {
				return tx.InsertLogin(account.Login{Hash: digest(cookie), UserID: user.ID, CreatedAt: now, SeenAt: now,
					EndsAt: now.Add(time.Hour)})
			})
		}
		entered := func(cookie string, wantTenant *uuid.UUID, wantUntil *time.Time) {
			t.Helper()
			got, _, err := s.LoginByHash(t.Context(), digest(cookie))
			if err != nil || !reflect.DeepEqual(got.EnteredTenant, wantTenant) ||
				!reflect.DeepEqual(got.EnteredUntil, wantUntil) {
				t.Errorf("%s looks into %v until %v, %v; want %v until %v", cookie, got.EnteredTenant, got.EnteredUntil, err,
					wantTenant, wantUntil)
			}
		}
		set := func(cookie string, tenantID *uuid.UUID, until *time.Time, at time.Time) error {
			return s.UpdateAccounts(t.Context(), func(tx account.Tx) error {
				return tx.SetEntered(digest(cookie), tenantID,
					until, at)
			})
		}
		entered("one", nil, nil)
		wantNoError(t, set("one", &shop.ID, &until, now))
		entered("one", &shop.ID, &until)
		entered("other", nil, nil)
		wantNoError(t, set("one", nil, nil, now))
		entered("one", nil, nil)
		wantCode(t, "a log-in that has ended", set("one", &shop.ID, &until, now.Add(time.Hour)), fault.NotFound)
		wantCode(t, "no log-in", set("nobody", &shop.ID, &until, now), fault.NotFound)
		entered("one", nil, nil)
	})
}

func TestStateOfTheDatabase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		got, err := s.DatabaseState(t.Context())
		if err != nil || got.Dialect != "sqlite" && got.Dialect != "postgres" || got.Bytes <= 0 || got.Migration < 9 {
			t.Errorf("the state is %+v, %v", got, err)
		}
		if pending, oldest, err := s.QueueState(t.Context()); err != nil || pending != 0 || oldest != 0 {
			t.Errorf("the empty queue has %d deliveries, the oldest due for %s, %v", pending, oldest, err)
		}
	})
}

// TestLastCalls: the last call is that of any of a tenant's keys.
func TestLastCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		busy, idle := newTenant(t, s).ID, newTenant(t, s).ID
		for i, k := range []tenant.APIKey{key(t, busy, "first"), key(t, busy, "second"), key(t, idle, "third")} {
			wantNoError(t, s.InsertKey(t.Context(), k, anAct))
			if k.TenantID == busy {
				wantNoError(t, s.TouchKey(t.Context(), k.ID, start.Add(-time.Duration(i)*time.Hour)))
			}
		}
		last, err := s.LastCalls(t.Context(), []uuid.UUID{busy, idle})
		if err != nil || len(last) != 1 || !last[busy].Equal(stored(start)) {
			t.Errorf("the last calls are %v, %v", last, err)
		}
	})
}

func TestTheNewestFoldIsOfAnyTenant(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		newest := func(want int64) {
			t.Helper()
			if got, err := s.NewestFold(t.Context()); err != nil || got != want {
				t.Errorf("the newest fold is %d, %v, want %d", got, err, want)
			}
		}
		newest(0)
		behind := newTenant(t, s)
		for owner, hour := range map[uuid.UUID]int64{newTenant(t, s).ID: 700, behind.ID: 600} {
			if ok, err := s.FoldSessions(t.Context(), owner, 0, hour, nil); err != nil || !ok {
				t.Errorf("fold: %t, %v", ok, err)
			}
		}
		if ok, err := s.FoldLedger(t.Context(), behind.ID, 0, 9000, nil); err != nil || !ok {
			t.Errorf("fold of the ledger: %t, %v", ok, err)
		}
		newest(701) // neither of the tenant after the given one nor of the ledger
	})
}

// TestSetup: an instance's operators have second factors if each that can log in
// without a provider has a passkey or codes.
func TestSetup(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		now := stored(start)
		users := map[string]account.User{"passkey": {}, "codes": {}, "disabled": {DisabledAt: &now}, "none": {}}
		for name, u := range users {
			u.ID, u.Email, u.Name, u.Operator, u.CreatedAt = id(t), name+"@gate.example", name, name != "none", now
			users[name] = u
			inAccounts(t, s, func(tx account.Tx) error { return tx.InsertUser(u) })
		}
		expect := func(when string, want insight.Setup) {
			t.Helper()
			if got, err := s.Setup(t.Context()); err != nil || got != want {
				t.Errorf("%s: %+v, %v, want %+v", when, got, err, want)
			}
		}
		expect("new", insight.Setup{})
		newTenant(t, s)
		inAccounts(t, s, func(tx account.Tx) error {
			return tx.SetUser(account.User{ID: users["codes"].ID, TOTP: []byte("sealed"), TOTPStep: 5}, "TOTP", "TOTPStep")
		})
		expect("one operator has a password alone", insight.Setup{Tenant: true})
		inAccounts(t, s, func(tx account.Tx) error {
			return tx.InsertPasskey(account.Passkey{ID: id(t), UserID: users["passkey"].ID, CredentialID: digest("credential"),
				PublicKey: digest("key"), AAGUID: make([]byte, 16), Name: "Phone", CreatedAt: now})
		})
		expect("all have a factor", insight.Setup{Tenant: true, SecondFactors: true})
		inAccounts(t, s, func(tx account.Tx) error {
			return tx.SetUser(account.User{ID: users["none"].ID, Operator: true}, "Operator")
		})
		expect("a new operator", insight.Setup{Tenant: true})
	})
}
