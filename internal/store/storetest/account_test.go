package storetest

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/fault"
)

func inAccounts(t testing.TB, s Store, fn func(tx account.Tx) error) {
	t.Helper()
	wantNoError(t, s.UpdateAccounts(t.Context(), fn))
}

// newUser stores Ada.
func newUser(t testing.TB, s Store) account.User {
	t.Helper()
	row := account.User{ID: id(t), Email: "ada@shop.example", Name: "Ada", Password: "a PHC string", Locale: "de",
		CreatedAt: stored(start)}
	inAccounts(t, s, func(tx account.Tx) error { return tx.InsertUser(row) })
	return row
}

func TestUserComesBackAsStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		want := newUser(t, s)
		if got, err := s.UserByEmail(t.Context(), want.Email); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("user = %+v, %v\nwant %+v", got, err, want)
		}
		_, err := s.UserByEmail(t.Context(), "bob@shop.example")
		wantCode(t, "an unknown address", err, fault.NotFound)
		for _, text := range []string{"ada\x00@shop.example", "ada\xff@shop.example"} {
			_, err := s.UserByEmail(t.Context(), text)
			wantCode(t, "text that cannot be stored", err, fault.NotFound)
		}
		again := want
		again.ID = id(t)
		err = s.UpdateAccounts(t.Context(), func(tx account.Tx) error { return tx.InsertUser(again) })
		wantCode(t, "a taken address", err, fault.Conflict)
		if exists, err := s.OperatorExists(t.Context()); exists || err != nil {
			t.Errorf("an operator exists: %v, %v", exists, err)
		}
		again.Email, again.Operator, again.Password = "op@gate.example", true, ""
		inAccounts(t, s, func(tx account.Tx) error { return tx.InsertUser(again) })
		if exists, err := s.OperatorExists(t.Context()); !exists || err != nil {
			t.Errorf("an operator exists: %v, %v", exists, err)
		}
	})
}

func TestMembership(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		shop, other, user := newTenant(t, s), newTenant(t, s), newUser(t, s)
		want := account.Membership{TenantID: shop.ID, UserID: user.ID, Role: account.Viewer, CreatedAt: stored(start)}
		inAccounts(t, s, func(tx account.Tx) error { return tx.InsertMembership(want) })
		_, err := s.Membership(t.Context(), other.ID, user.ID)
		wantCode(t, "another tenant", err, fault.NotFound)
		want.Role = account.Owner
		inAccounts(t, s, func(tx account.Tx) error { return tx.SetRole(shop.ID, user.ID, account.Owner) })
		if got, err := s.Membership(t.Context(), shop.ID, user.ID); err != nil || got != want {
			t.Errorf("membership = %+v, %v\nwant %+v", got, err, want)
		}
		if got, err := s.MembershipsOf(t.Context(), user.ID); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("memberships = %+v, %v", got, err)
		}
		err = s.UpdateAccounts(t.Context(), func(tx account.Tx) error {
			return tx.InsertMembership(account.Membership{
				TenantID: id(t), UserID: user.ID, Role: account.Owner, CreatedAt: start,
			})
		})
		wantCode(t, "of no tenant", err, fault.NotFound)
	})
}

func TestLogin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		user, until := newUser(t, s), stored(start.Add(time.Minute))
		want := account.Login{
			Hash: digest("cookie"), UserID: user.ID, DeviceHash: digest("device"),
			Methods:   []account.Method{account.ByPassword, account.ByTOTP},
			CreatedAt: stored(start), SeenAt: stored(start), EndsAt: stored(start.Add(account.LoginTTL)), SteppedUpUntil: &until,
		}
		inAccounts(t, s, func(tx account.Tx) error { return tx.InsertLogin(want) })
		read := func(step string) {
			t.Helper()
			got, of, err := s.LoginByHash(t.Context(), digest("cookie"))
			if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(of, user) {
				t.Errorf("%s: login = %+v of %+v, %v\nwant %+v of %+v", step, got, of, err, want, user)
			}
		}
		read("stored")
		want.SeenAt = stored(start.Add(time.Hour))
		inAccounts(t, s, func(tx account.Tx) error {
			return errors.Join(tx.TouchLogin(want.Hash, want.SeenAt), tx.TouchLogin(want.Hash, start.Add(time.Minute)))
		})
		read("touched")
		want.EndsAt = stored(start.Add(2 * time.Hour))
		inAccounts(t, s, func(tx account.Tx) error {
			return errors.Join(tx.EndLogin(want.Hash, want.EndsAt), tx.EndLogin(want.Hash, start.Add(3*time.Hour)),
				tx.EndLogin(digest("unknown"), start))
		})
		read("ended")
		_, _, err := s.LoginByHash(t.Context(), digest("unknown"))
		wantCode(t, "an unknown cookie", err, fault.NotFound)
	})
}

func setupLink(token string) account.Link {
	return account.Link{Hash: digest(token), Kind: account.LinkSetup, CreatedAt: stored(start),
		ExpiresAt: stored(start.Add(account.SetupTTL))}
}

func TestSetupLinkIsReplacedAndTakenOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		shop := newTenant(t, s)
		first, second := setupLink("first"), setupLink("second")
		second.TenantID = &shop.ID
		inAccounts(t, s, func(tx account.Tx) error { return tx.PutSetupLink(first) })
		if got, err := s.LinkByHash(t.Context(), first.Hash); err != nil || !reflect.DeepEqual(got, first) {
			t.Errorf("link = %+v, %v\nwant %+v", got, err, first)
		}
		inAccounts(t, s, func(tx account.Tx) error { return tx.PutSetupLink(second) })
		_, err := s.LinkByHash(t.Context(), first.Hash)
		wantCode(t, "the replaced link", err, fault.NotFound)
		take := func(kind account.LinkKind, after time.Duration) error {
			return s.UpdateAccounts(t.Context(), func(tx account.Tx) error {
				got, err := tx.TakeLink(kind, second.Hash, start.Add(after))
				if err == nil && !reflect.DeepEqual(got, second) {
					t.Errorf("taken link = %+v\nwant %+v", got, second)
				}
				return err
			})
		}
		wantCode(t, "another kind", take(account.LinkInvitation, 0), fault.NotFound)
		wantCode(t, "an expired link", take(account.LinkSetup, account.SetupTTL), fault.NotFound)
		var taken atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				switch err := take(account.LinkSetup, account.SetupTTL-microsecond); {
				case err == nil:
					taken.Add(1)
				case fault.CodeOf(err) != fault.NotFound:
					t.Errorf("take: %v", err)
				}
			})
		}
		wg.Wait()
		if taken.Load() != 1 {
			t.Errorf("the link was taken %d times", taken.Load())
		}
	})
}

func TestFlowIsClaimedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		for i, want := range []bool{true, false, false} {
			inAccounts(t, s, func(tx account.Tx) error {
				got, err := tx.ClaimFlow(digest("form"), "form", start.Add(time.Hour))
				if got != want {
					t.Errorf("claim %d: %v", i, got)
				}
				return err
			})
		}
	})
}

func TestPruneAccountsForgetsOnlyWhatIsOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		user := newUser(t, s)
		login := account.Login{Hash: digest("cookie"), UserID: user.ID, CreatedAt: start, SeenAt: start, EndsAt: start}
		inAccounts(t, s, func(tx account.Tx) error {
			_, err := tx.ClaimFlow(digest("form"), "form", start)
			return errors.Join(err, tx.InsertLogin(login), tx.PutSetupLink(setupLink("token")))
		})
		const day = 24 * time.Hour
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{-microsecond, 0}, {0, 1}, {account.SetupTTL + 7*day - microsecond, 0}, {account.SetupTTL + 7*day, 1},
			{30*day - microsecond, 0}, {30 * day, 1}} {
			if got, err := s.PruneAccounts(t.Context(), start.Add(step.after), 10); err != nil || got != step.want {
				t.Errorf("pruned after %v: %d, %v; want %d", step.after, got, err, step.want)
			}
		}
	})
}
