package storetest

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/fault"
)

func anotherUser(t testing.TB, s Store, email string) account.User {
	t.Helper()
	row := account.User{ID: id(t), Email: email, Name: "Bob", CreatedAt: stored(start)}
	inAccounts(t, s, func(tx account.Tx) error { return tx.InsertUser(row) })
	return row
}

// TestUsersByID: the users that exist are found, whatever other IDs are named.
func TestUsersByID(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		ada, bob := newUser(t, s), anotherUser(t, s, "bob@shop.example")
		anotherUser(t, s, "eve@shop.example")
		found, err := s.UsersByID(t.Context(), []uuid.UUID{bob.ID, id(t), ada.ID, bob.ID})
		names := map[uuid.UUID]string{}
		for _, u := range found {
			names[u.ID] = u.Name
		}
		if err != nil || len(found) != 2 || names[ada.ID] != ada.Name || names[bob.ID] != bob.Name {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

func TestPasskeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		user, other := newUser(t, s), anotherUser(t, s, "bob@shop.example")
		want := account.Passkey{
			ID: id(t), UserID: user.ID, CredentialID: digest("credential"), PublicKey: digest("key"), SignCount: 1<<32 - 1,
			Flags:      0x5d,
			Transports: []string{"internal", "hybrid"}, AAGUID: make([]byte, 16), Name: "Phone", CreatedAt: stored(start),
		}
		inAccounts(t, s, func(tx account.Tx) error { return tx.InsertPasskey(want) })
		again := want
		again.ID, again.UserID = id(t), other.ID
		wantCode(t, "a stored credential", s.UpdateAccounts(t.Context(),
			func(tx account.Tx) error { return tx.InsertPasskey(again) }), fault.Conflict)
		if got, err := s.PasskeyByCredential(t.Context(), want.CredentialID); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("passkey = %+v, %v\nwant %+v", got, err, want)
		}
		use := func(count uint32) (ok bool) {
			t.Helper()
			used := want
			used.SignCount = count
			inAccounts(t, s, func(tx account.Tx) (err error) {
				ok, err = tx.UsePasskey(used, start.Add(time.Hour))
				return err
			})
			return ok
		}
		if use(1) || use(1<<32-1) {
			t.Error("a counter that did not go up is stored")
		}
		locked := func(user account.User, passkeys ...account.Passkey) {
			t.Helper()
			inAccounts(t, s, func(tx account.Tx) error {
				got, err1 := tx.LockUser(user.ID)
				keys, err2 := tx.Passkeys(user.ID)
				if !reflect.DeepEqual(got, user) || len(keys) != len(passkeys) || len(keys) > 0 &&
					!reflect.DeepEqual(keys, passkeys) {
					t.Errorf("locked %+v with %+v\nwant %+v with %+v", got, keys, user, passkeys)
				}
				return errors.Join(err1, err2)
			})
		}
		locked(user, want)
		locked(other)
		wantCode(t, "another user's passkey", s.UpdateAccounts(t.Context(),
			func(tx account.Tx) error { return tx.DeletePasskey(other.ID, want.ID) }), fault.NotFound)
		inAccounts(t, s, func(tx account.Tx) error { return tx.DeletePasskey(user.ID, want.ID) })
		if got, err := s.Passkeys(t.Context(), user.ID); err != nil || len(got) != 0 {
			t.Errorf("passkeys = %+v, %v", got, err)
		}
		locked(user)
		wantCode(t, "nobody", s.UpdateAccounts(t.Context(), func(tx account.Tx) error {
			_, err := tx.LockUser(id(t))
			return err
		}), fault.NotFound)
	})
}

// A passkey may become eligible for backup, and then stays so, whichever of two
// uses at once is stored first.
func TestPasskeyBecomesEligibleForBackup(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		key := account.Passkey{
			ID: id(t), UserID: newUser(t, s).ID, CredentialID: digest("credential"), PublicKey: digest("key"),
			AAGUID: make([]byte, 16), CreatedAt: stored(start), Flags: 0x05,
		}
		inAccounts(t, s, func(tx account.Tx) error { return tx.InsertPasskey(key) })
		for _, tt := range []struct {
			flags byte
			ok    bool
		}{{0x05, true}, {0x1d, true}, {0x0d, true}, {0x05, false}, {0x1d, true}} {
			used := key
			used.Flags = tt.flags
			inAccounts(t, s, func(tx account.Tx) error {
				ok, err := tx.UsePasskey(used, start)
				if ok != tt.ok {
					t.Errorf("flags %#x: stored %t, want %t", tt.flags, ok, tt.ok)
				}
				return err
			})
		}
		if got, err := s.PasskeyByCredential(t.Context(), key.CredentialID); err != nil || got.Flags != 0x1d {
			t.Errorf("the flags are %#x, %v", got.Flags, err)
		}
	})
}

func TestFactorsComeBackAsStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		user, other := newUser(t, s), anotherUser(t, s, "bob@shop.example")
		inAccounts(t, s, func(tx account.Tx) error {
			return errors.Join(tx.SetUser(account.User{ID: user.ID, Password: ""}, "Password"),
				tx.SetUser(account.User{ID: user.ID, Locale: "en"}, "Locale"),
				tx.SetUser(account.User{ID: user.ID, TOTP: []byte("sealed"), TOTPStep: 5}, "TOTP", "TOTPStep"))
		})
		user.Password, user.Locale, user.TOTP, user.TOTPStep = "", "en", []byte("sealed"), 5
		if got, err := s.UserByID(t.Context(), user.ID); err != nil || !reflect.DeepEqual(got, user) {
			t.Errorf("user = %+v, %v\nwant %+v", got, err, user)
		}
		if got, err := s.Users(t.Context(), user.ID, 10); err != nil || len(got) != 1 || got[0].ID != other.ID {
			t.Errorf("users = %+v, %v", got, err)
		}
	})
}

func TestCodesAndStepsAreUsedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		user := newUser(t, s)
		inAccounts(t, s, func(tx account.Tx) error {
			return errors.Join(tx.SetUser(account.User{ID: user.ID, TOTP: []byte("sealed"), TOTPStep: 5}, "TOTP", "TOTPStep"),
				tx.ReplaceCodes(user.ID, [][]byte{digest("old")}))
		})
		inAccounts(t, s, func(tx account.Tx) error { return tx.ReplaceCodes(user.ID, [][]byte{digest("a"), digest("b")}) })
		if n, err := s.CodesLeft(t.Context(), user.ID); n != 2 || err != nil {
			t.Errorf("codes left: %d, %v", n, err)
		}
		for name, use := range map[string]func(tx account.Tx) (bool, error){
			"code": func(tx account.Tx) (bool, error) { return tx.UseCode(user.ID, digest("a"), start) },
			"step": func(tx account.Tx) (bool, error) { return tx.UseTOTPStep(user.ID, 6) },
		} {
			var used atomic.Int32
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					err := s.UpdateAccounts(t.Context(), func(tx account.Tx) error {
						ok, err := use(tx)
						if ok {
							used.Add(1)
						}
						return err
					})
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			wg.Wait()
			if used.Load() != 1 {
				t.Errorf("the %s was used %d times", name, used.Load())
			}
		}
		inAccounts(t, s, func(tx account.Tx) error {
			old, err := tx.UseCode(user.ID, digest("old"), start)
			if old {
				t.Error("a replaced code is used")
			}
			return err
		})
	})
}

func TestLoginsAreRenewedAndEnded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		user := newUser(t, s)
		for i, name := range []string{"one", "two", "three"} {
			at := stored(start.Add(time.Duration(i) * time.Second))
			inAccounts(t, s, func(tx account.Tx) error {
				return tx.InsertLogin(account.Login{Hash: digest(name), UserID: user.ID, CreatedAt: at, SeenAt: at,
					EndsAt: at.Add(account.LoginTTL)})
			})
		}
		now, until := start.Add(time.Minute), stored(start.Add(time.Hour))
		renewed := account.Login{Hash: digest("new"), Methods: []account.Method{account.ByPasskey}, SteppedUpUntil: &until}
		inAccounts(t, s, func(tx account.Tx) error { return tx.RenewLogin(digest("one"), renewed, now) })
		wantCode(t, "the hash before", s.UpdateAccounts(t.Context(),
			func(tx account.Tx) error { return tx.RenewLogin(digest("one"), renewed, now) }), fault.NotFound)
		if got, err := s.LoginsOf(t.Context(), user.ID, now); err != nil || len(got) != 3 ||
			!reflect.DeepEqual(got[2].Methods, renewed.Methods) || !reflect.DeepEqual(got[2].SteppedUpUntil, &until) {
			t.Errorf("log-ins = %+v, %v", got, err)
		}
		for _, step := range []struct {
			user  uuid.UUID
			since time.Time
			want  int
		}{{id(t), start.Add(time.Second), 0}, {user.ID, start.Add(time.Hour), 0}, {user.ID, start.Add(time.Second), 1},
			{user.ID, start.Add(time.Second), 0}} {
			inAccounts(t, s, func(tx account.Tx) error {
				n, err := tx.EndLoginSince(step.user, step.since, now)
				if n != step.want {
					t.Errorf("%d log-ins since %v ended", n, step.since)
				}
				return err
			})
		}
		inAccounts(t, s, func(tx account.Tx) error {
			n, err := tx.EndLogins(user.ID, digest("new"), now)
			if n != 1 {
				t.Errorf("%d log-ins ended", n)
			}
			return err
		})
		if got, err := s.LoginsOf(t.Context(), user.ID, now); err != nil || len(got) != 1 {
			t.Errorf("log-ins = %+v, %v", got, err)
		}
		for _, step := range []struct {
			at   *time.Time
			want bool
		}{{nil, false}, {&now, true}, {&until, false}, {nil, true}} {
			inAccounts(t, s, func(tx account.Tx) error {
				changed, err := tx.SetDisabled(user.ID, step.at)
				if changed != step.want {
					t.Errorf("disabled at %v: %v", step.at, changed)
				}
				return err
			})
		}
	})
}

func TestTheLastOwnerStays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		shop, ada, bob := newTenant(t, s), newUser(t, s), anotherUser(t, s, "bob@shop.example")
		join := func(u account.User, role account.Role) error {
			return s.UpdateAccounts(t.Context(), func(tx account.Tx) error {
				return tx.InsertMembership(account.Membership{TenantID: shop.ID, UserID: u.ID, Role: role, CreatedAt: start})
			})
		}
		wantNoError(t, join(ada, account.Owner))
		wantCode(t, "a member joins again", join(ada, account.Viewer), fault.Conflict)
		act := func(do func(tx account.Tx) error) error {
			return s.UpdateAccounts(t.Context(), func(tx account.Tx) error {
				return errors.Join(tx.LockOwners(shop.ID),
					do(tx))
			})
		}
		demote := func(tx account.Tx) error { return tx.SetRole(shop.ID, ada.ID, account.Viewer) }
		remove := func(tx account.Tx) error { return tx.DeleteMembership(shop.ID, ada.ID) }
		wantCode(t, "demote the only member", act(demote), fault.Conflict)
		wantCode(t, "an unknown tenant", s.UpdateAccounts(t.Context(),
			func(tx account.Tx) error { return tx.LockOwners(id(t)) }), fault.NotFound)
		wantNoError(t, join(bob, account.Developer))
		wantCode(t, "remove the only owner", act(remove), fault.Conflict)
		wantNoError(t, act(func(tx account.Tx) error { return tx.SetRole(shop.ID, bob.ID, account.Owner) }))
		inAccounts(t, s, func(tx account.Tx) error { _, err := tx.SetDisabled(bob.ID, &start); return err })
		wantCode(t, "the other owner is disabled", act(demote), fault.Conflict)
		inAccounts(t, s, func(tx account.Tx) error { _, err := tx.SetDisabled(bob.ID, nil); return err })
		wantNoError(t, act(demote))
		wantNoError(t, act(remove))
		if got, err := s.Members(t.Context(), shop.ID); err != nil || len(got) != 1 || got[0].Role != account.Owner ||
			!reflect.DeepEqual(got[0].User, bob) {
			t.Errorf("members = %+v, %v", got, err)
		}
	})
}

func TestInvitationsAndRecoveryLinks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		shop, user := newTenant(t, s), newUser(t, s)
		invitation := account.Link{
			Hash: digest("invitation"), Kind: account.LinkInvitation, TenantID: &shop.ID, Role: account.Viewer,
			CreatedBy: &user.ID,
			CreatedAt: stored(start), ExpiresAt: stored(start.Add(account.InvitationTTL)),
		}
		recovery := account.Link{Hash: digest("recovery"), Kind: account.LinkRecovery, UserID: &user.ID,
			CreatedAt: stored(start), ExpiresAt: stored(start.Add(account.RecoveryTTL))}
		owners := invitation
		owners.Hash, owners.Role, owners.CreatedBy = digest("owner's"), account.Owner, nil
		inAccounts(t, s, func(tx account.Tx) error {
			return errors.Join(tx.InsertLink(invitation), tx.InsertLink(recovery), tx.InsertLink(owners))
		})
		inAccounts(t, s, func(tx account.Tx) error {
			return ends(tx, account.Link{Kind: account.LinkInvitation, TenantID: new(id(t)), Role: account.Owner})
		})
		_, err := s.LinkByHash(t.Context(), owners.Hash)
		wantNoError(t, err)
		inAccounts(t, s, func(tx account.Tx) error {
			return ends(tx, account.Link{Kind: account.LinkInvitation, TenantID: &shop.ID, Role: account.Owner})
		})
		if got, err := s.OpenLinks(t.Context(), nil, []uuid.UUID{shop.ID}, start); err != nil || len(got) != 1 ||
			!reflect.DeepEqual(got[0], account.OpenLink{Link: invitation}) {
			t.Errorf("invitations = %+v, %v", got, err)
		}
		of := []account.LinkKind{account.LinkSetup, account.LinkRecovery}
		if got, err := s.OpenLinks(t.Context(), of, nil, start); err != nil || len(got) != 1 ||
			!reflect.DeepEqual(got[0], account.OpenLink{Link: recovery}) {
			t.Errorf("links of users = %+v, %v", got, err)
		}
		if got, err := s.OpenLinks(t.Context(), of, []uuid.UUID{shop.ID}, invitation.ExpiresAt); err != nil || len(got) != 0 {
			t.Errorf("expired links = %+v, %v", got, err)
		}
		inAccounts(t, s, func(tx account.Tx) error {
			return ends(tx, account.Link{Kind: account.LinkRecovery, UserID: &user.ID})
		})
		_, err = s.LinkByHash(t.Context(), recovery.Hash)
		wantCode(t, "a replaced recovery link", err, fault.NotFound)

		recovery.CreatedBy = &user.ID
		left := func(step string, want int) {
			t.Helper()
			n := 0
			for _, link := range []account.Link{invitation, recovery} {
				if _, err := s.LinkByHash(t.Context(), link.Hash); err == nil {
					n++
				}
			}
			if n != want {
				t.Errorf("%s: %d links, want %d", step, n, want)
			}
		}
		inAccounts(t, s, func(tx account.Tx) error {
			return errors.Join(tx.InsertLink(recovery),
				ends(tx, account.Link{Kind: account.LinkInvitation, TenantID: &shop.ID, CreatedBy: new(id(t))}),
				ends(tx, account.Link{Kind: account.LinkInvitation, TenantID: new(id(t)), CreatedBy: &user.ID}),
				ends(tx, account.Link{CreatedBy: new(id(t))}))
		})
		left("those of others", 2)
		inAccounts(t, s, func(tx account.Tx) error {
			return ends(tx, account.Link{Kind: account.LinkInvitation, TenantID: &shop.ID, CreatedBy: &user.ID})
		})
		left("the tenant's", 1)
		inAccounts(t, s, func(tx account.Tx) error {
			ended, err := tx.DeleteLinks(account.Link{CreatedBy: &user.ID})
			if len(ended) != 1 || !reflect.DeepEqual(ended[0], recovery) {
				t.Errorf("the deleted links are %+v", ended)
			}
			return err
		})
		left("all", 0)
	})
}

// TestThrottle: failures counted at the same time all count.
func TestThrottle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				err := s.UpdateAccounts(t.Context(), func(tx account.Tx) error {
					b, err := tx.LockThrottle(digest("bucket"), start)
					if err != nil {
						return err
					}
					b.Failures, b.Until = b.Failures+1, stored(start.Add(time.Minute))
					return tx.PutThrottle(b, start)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, want := range []int{8, 0} {
			inAccounts(t, s, func(tx account.Tx) error {
				b, err := tx.LockThrottle(digest("bucket"), start)
				if b.Failures != want || want > 0 && !b.Until.Equal(stored(start.Add(time.Minute))) {
					t.Errorf("bucket = %+v", b)
				}
				return errors.Join(err, tx.DropThrottle(digest("bucket")))
			})
		}
	})
}

// TestThrottleIsDroppedMeanwhile: a bucket may be dropped while another waits
// for it.
func TestThrottleIsDroppedMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for range 10 {
					err := s.UpdateAccounts(t.Context(), func(tx account.Tx) error {
						b, err := tx.LockThrottle(digest("bucket"), start)
						switch {
						case err != nil:
							return err
						case i%2 == 0:
							return tx.DropThrottle(b.Bucket)
						}
						return tx.PutThrottle(b, start)
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
}

func ends(tx account.Tx, of account.Link) error {
	_, err := tx.DeleteLinks(of)
	return err
}
