package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
)

func key(t testing.TB, tenantID uuid.UUID, plain string) tenant.APIKey {
	t.Helper()
	return tenant.APIKey{
		ID: id(t), TenantID: tenantID, Livemode: true, Hash: credential.HashAPIKey(plain),
		LastFour: "abcd", CreatedAt: stored(start), Name: "Søren's <b>",
	}
}

func secret(t testing.TB, tenantID uuid.UUID, kind tenant.SecretKind, createdAt time.Time) tenant.Secret {
	t.Helper()
	return tenant.Secret{
		ID: id(t), TenantID: tenantID, Livemode: true, Kind: kind, State: tenant.SecretActive,
		Sealed: sealed("s"), CreatedAt: stored(createdAt),
	}
}

func TestTenantComesBackAsStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		free, none, capped := int64(-1), int64(0), int64(7)
		want := tenant.Tenant{
			ID: id(t), Name: "Vin & Øl \"quoted\"", SuccessURL: "https://shop.example/ok", CancelURL: "https://shop.example/no",
			WebhookURL: "https://shop.example/hook", DocumentCheck: true, AgeVisibility: true, FreeChecks: &free,
			Links: tenant.Links{
				PrivacyURL: "https://shop.example/privacy", HelpURL: "https://shop.example/help",
				TermsURL: "https://shop.example/terms", ReviewURL: "https://shop.example/review",
			},
			Disabled: true, CreatedAt: start, Languages: []string{"de", "zh-Hans"}, AlertBelow: &none, TestCap: &capped,
			DocumentWays: []string{"wallet"}, WalletPID: true, DocumentOnly: true, Margins: []string{"18=9"},
		}
		for f, v := range reflect.ValueOf(want).Fields() {
			if v.IsZero() {
				t.Fatalf("the field %s is empty, so nothing shows that it is stored", f.Name)
			}
		}
		k := key(t, want.ID, "plain")
		wantNoError(t, s.CreateTenant(t.Context(), want, []tenant.APIKey{k}, nil, anAct))
		want.CreatedAt = stored(start)
		got, err := s.TenantByID(t.Context(), want.ID)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("TenantByID = %+v, %v\nwant %+v", got, err, want)
		}
		gotKey, got, err := s.KeyByHash(t.Context(), k.Hash)
		if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotKey, k) {
			t.Errorf("KeyByHash = %+v, %+v, %v", gotKey, got, err)
		}
	})
}

func TestCreateTenantWritesAllOrNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		taken := key(t, newTenant(t, s).ID, "taken")
		wantNoError(t, s.InsertKey(t.Context(), taken, anAct))
		second := tenant.Tenant{ID: id(t), Name: "Second", CreatedAt: start}
		clash := key(t, second.ID, "taken")
		wantCode(t, "a key hash twice", s.CreateTenant(t.Context(), second, []tenant.APIKey{clash}, nil, anAct),
			fault.Conflict)
		_, err := s.TenantByID(t.Context(), second.ID)
		wantCode(t, "tenant after a failed creation", err, fault.NotFound)
	})
}

func TestUpdateTenantChangesOnlyWhatIsSet(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		want := newTenant(t, s)
		other := newTenant(t, s)
		url, empty, on, free := "https://shop.example/ok", "", true, int64(7)
		want.SuccessURL, want.DocumentCheck, want.FreeChecks = url, on, &free
		want.Links = tenant.Links{PrivacyURL: url, HelpURL: url, TermsURL: url, ReviewURL: url}
		got, err := s.UpdateTenant(t.Context(), want.ID, tenant.Changes{
			SuccessURL: &url, DocumentCheck: &on, FreeChecks: &free, PrivacyURL: &url, HelpURL: &url, TermsURL: &url,
			ReviewURL: &url,
		}, anAct)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("after a change: %+v, %v\nwant %+v", got, err, want)
		}
		languages, alert, never := []string{"fr", "de"}, int64(0), int64(-1)
		want.Languages, want.AlertBelow = languages, &alert
		got, err = s.UpdateTenant(t.Context(), want.ID, tenant.Changes{Languages: &languages, AlertBelow: &alert}, anAct)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("with languages and an alert: %+v, %v\nwant %+v", got, err, want)
		}
		ways := []string{"photo"}
		want.DocumentWays = ways
		got, err = s.UpdateTenant(t.Context(), want.ID, tenant.Changes{DocumentWays: &ways}, anAct)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("with one way of the document check: %+v, %v\nwant %+v", got, err, want)
		}
		languages, want.Languages, want.AlertBelow, ways, want.DocumentWays = nil, nil, nil, nil, nil
		got, err = s.UpdateTenant(t.Context(), want.ID,
			tenant.Changes{Languages: &languages, AlertBelow: &never, DocumentWays: &ways}, anAct)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("without them again: %+v, %v\nwant %+v", got, err, want)
		}
		want.SuccessURL = ""
		got, err = s.UpdateTenant(t.Context(), want.ID, tenant.Changes{SuccessURL: &empty}, anAct)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("after clearing: %+v, %v\nwant %+v", got, err, want)
		}
		if got, err = s.UpdateTenant(t.Context(), want.ID, tenant.Changes{}, anAct); err != nil ||
			!reflect.DeepEqual(got, want) {
			t.Errorf("without changes: %+v, %v\nwant %+v", got, err, want)
		}
		if got, err = s.TenantByID(t.Context(), other.ID); err != nil || !reflect.DeepEqual(got, other) {
			t.Errorf("another tenant changed: %+v, %v", got, err)
		}
	})
}

func TestMissingRowsAreNotFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		ctx, nobody, name := t.Context(), uuid.New(), "x"
		_, err := s.TenantByID(ctx, nobody)
		wantCode(t, "TenantByID", err, fault.NotFound)
		_, err = s.UpdateTenant(ctx, nobody, tenant.Changes{}, anAct)
		wantCode(t, "UpdateTenant without changes", err, fault.NotFound)
		_, err = s.UpdateTenant(ctx, nobody, tenant.Changes{Name: &name}, anAct)
		wantCode(t, "UpdateTenant", err, fault.NotFound)
		wantCode(t, "SetTenantDisabled", s.SetTenantDisabled(ctx, nobody, true, anAct), fault.NotFound)
		wantCode(t, "RevokeKey", s.RevokeKey(ctx, nobody, nobody, start, anAct), fault.NotFound)
		wantCode(t, "TouchKey", s.TouchKey(ctx, nobody, start), fault.NotFound)
		wantCode(t, "InsertKey of no tenant", s.InsertKey(ctx, key(t, nobody, "k"), anAct), fault.NotFound)
		_, err = s.KeyByID(ctx, nobody)
		wantCode(t, "KeyByID", err, fault.NotFound)
		_, _, err = s.KeyByHash(ctx, credential.HashAPIKey("none"))
		wantCode(t, "KeyByHash", err, fault.NotFound)
		_, err = s.SessionByID(ctx, nobody, nobody)
		wantCode(t, "SessionByID", err, fault.NotFound)
		_, err = s.SessionByLink(ctx, digest("none"), digest("nobody"))
		wantCode(t, "SessionByLink", err, fault.NotFound)
	})
}

func TestDisableAndEnableTenant(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		row := newTenant(t, s)
		for _, disabled := range []bool{true, true, false} {
			wantNoError(t, s.SetTenantDisabled(t.Context(), row.ID, disabled, anAct))
			if got, err := s.TenantByID(t.Context(), row.ID); err != nil || got.Disabled != disabled {
				t.Errorf("disabled = %t, %v, want %t", got.Disabled, err, disabled)
			}
		}
	})
}

func TestTenantsAndKeysAreListedOldestFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		var tenants, keys []uuid.UUID
		// Text order and time order differ if a fraction is missing.
		for i, age := range []time.Duration{0, -time.Second, 1500 * time.Microsecond} {
			row := tenant.Tenant{ID: id(t), Name: "t", CreatedAt: start.Truncate(time.Second).Add(age)}
			wantNoError(t, s.CreateTenant(t.Context(), row, nil, nil, anAct))
			tenants = append(tenants, row.ID)
			k := key(t, tenants[0], string(rune('a'+i)))
			k.CreatedAt = row.CreatedAt
			wantNoError(t, s.InsertKey(t.Context(), k, anAct))
			keys = append(keys, k.ID)
		}
		inOrder := []uuid.UUID{tenants[1], tenants[0], tenants[2]}
		for _, page := range []struct {
			after uuid.UUID
			limit int
			want  []uuid.UUID
		}{{uuid.Nil, 9, inOrder}, {uuid.Nil, 2, inOrder[:2]}, {inOrder[1], 2, inOrder[2:]}, {inOrder[2], 2, nil}} {
			list, err := s.Tenants(t.Context(), page.after, page.limit)
			var got []uuid.UUID
			for _, row := range list {
				got = append(got, row.ID)
			}
			if err != nil || !slices.Equal(got, page.want) {
				t.Errorf("Tenants after %v = %v, %v\nwant %v", page.after, got, err, page.want)
			}
		}
		_, err := s.Tenants(t.Context(), uuid.New(), 1)
		wantCode(t, "Tenants after none", err, fault.NotFound)
		listed, err := s.Keys(t.Context(), tenants[0])
		if err != nil || len(listed) != 3 || listed[0].ID != keys[1] || listed[1].ID != keys[0] || listed[2].ID != keys[2] {
			t.Errorf("Keys = %+v, %v", listed, err)
		}
	})
}

func TestKeyTimes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, stranger := newTenant(t, s), newTenant(t, s)
		k := key(t, owner.ID, "plain")
		wantNoError(t, s.InsertKey(t.Context(), k, anAct))
		read := func() tenant.APIKey {
			got, _, err := s.KeyByHash(t.Context(), k.Hash)
			wantNoError(t, err)
			return got
		}
		later := start.Add(time.Minute)
		for _, used := range []time.Time{start, later, start} {
			wantNoError(t, s.TouchKey(t.Context(), k.ID, used))
		}
		if got := read().LastUsedAt; got == nil || !got.Equal(stored(later)) {
			t.Errorf("last use %v, want the latest, %v", got, stored(later))
		}
		wantCode(t, "another tenant's RevokeKey", s.RevokeKey(t.Context(), stranger.ID, k.ID, start, anAct), fault.NotFound)
		if got := read().RevokedAt; got != nil {
			t.Errorf("another tenant revoked the key at %v", got)
		}
		wantNoError(t, s.RevokeKey(t.Context(), owner.ID, k.ID, start, anAct))
		wantNoError(t, s.RevokeKey(t.Context(), owner.ID, k.ID, later, anAct))
		if got := read().RevokedAt; got == nil || !got.Equal(stored(start)) {
			t.Errorf("revoked %v, want the first time, %v", got, stored(start))
		}
	})
}

// TestAKeyIsReplacedOnce: the old key gets an end and the new one is stored, both
// or neither. Of several simultaneous calls one succeeds.
func TestAKeyIsReplacedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner, stranger := newTenant(t, s), newTenant(t, s)
		old := key(t, owner.ID, "old")
		wantNoError(t, s.InsertKey(t.Context(), old, anAct))
		end := stored(start.Add(time.Hour))
		replace := func(tenantID, id uuid.UUID, next string) error {
			return s.ReplaceKey(t.Context(), tenantID, id, end, key(t, tenantID, next), anAct)
		}
		wantCode(t, "another tenant's key", replace(stranger.ID, old.ID, "a"), fault.NotFound)
		wantCode(t, "a missing key", replace(owner.ID, uuid.New(), "b"), fault.NotFound)
		results := make(chan error, 4)
		for i := range cap(results) {
			go func() { results <- replace(owner.ID, old.ID, fmt.Sprint("next ", i)) }()
		}
		replaced := 0
		for range cap(results) {
			if err := <-results; err == nil {
				replaced++
			} else {
				wantCode(t, "one that was replaced", err, fault.Conflict)
			}
		}
		keys, err := s.Keys(t.Context(), owner.ID)
		wantNoError(t, err)
		if replaced != 1 || len(keys) != 2 {
			t.Fatalf("replaced %d times, %d keys", replaced, len(keys))
		}
		for _, k := range keys {
			if k.ID == old.ID && (k.ExpiresAt == nil || !k.ExpiresAt.Equal(end)) || k.ID != old.ID && k.ExpiresAt != nil {
				t.Errorf("%v expires at %v", k.ID, k.ExpiresAt)
			}
		}
		if keys, err = s.Keys(t.Context(), stranger.ID); err != nil || len(keys) != 0 {
			t.Errorf("the stranger has %d keys, %v", len(keys), err)
		}
		revoked := key(t, owner.ID, "revoked")
		wantNoError(t, s.InsertKey(t.Context(), revoked, anAct))
		wantNoError(t, s.RevokeKey(t.Context(), owner.ID, revoked.ID, start, anAct))
		wantCode(t, "a revoked key", replace(owner.ID, revoked.ID, "z"), fault.Conflict)
	})
}

func TestRotateSecret(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		owner := newTenant(t, s)
		first := secret(t, owner.ID, tenant.SecretWebhook, start)
		other := secret(t, owner.ID, tenant.SecretRedirect, start)
		second := secret(t, owner.ID, tenant.SecretWebhook, start.Add(time.Hour))
		row := tenant.Tenant{ID: id(t), Name: "with secrets", CreatedAt: start}
		first.TenantID, other.TenantID, second.TenantID = row.ID, row.ID, row.ID
		wantNoError(t, s.CreateTenant(t.Context(), row, nil, []tenant.Secret{first, other}, anAct))

		end := start.Add(25 * time.Hour)
		wantNoError(t, s.RotateSecret(t.Context(), second, end, anAct))
		end = stored(end)
		first.State, first.ExpiresAt = tenant.SecretRetiring, &end
		for _, step := range []struct {
			kind tenant.SecretKind
			now  time.Time
			want []tenant.Secret
		}{
			{tenant.SecretWebhook, end.Add(-time.Microsecond), []tenant.Secret{second, first}},
			{tenant.SecretWebhook, end, []tenant.Secret{second}},
			{tenant.SecretRedirect, end, []tenant.Secret{other}},
		} {
			got, err := s.Secrets(t.Context(), row.ID, true, step.kind, step.now)
			if err != nil || !reflect.DeepEqual(got, step.want) {
				t.Errorf("%s at %v: %+v, %v\nwant %+v", step.kind, step.now, got, err, step.want)
			}
		}
		// An immediate rotation also ends secrets that an earlier rotation let
		// sign on.
		third := secret(t, row.ID, tenant.SecretWebhook, start.Add(2*time.Hour))
		now := start.Add(2 * time.Hour)
		wantNoError(t, s.RotateSecret(t.Context(), third, now, anAct))
		if got, err := s.Secrets(t.Context(), row.ID, true, tenant.SecretWebhook, now); err != nil ||
			!reflect.DeepEqual(got, []tenant.Secret{third}) {
			t.Errorf("after a rotation at once: %+v, %v\nwant %+v", got, err, third)
		}
		// A rotation with an overlap gives no secret longer than it had.
		wantNoError(t, s.RotateSecret(t.Context(), secret(t, row.ID, tenant.SecretWebhook, now), now.Add(time.Hour), anAct))
		if got, err := s.Secrets(t.Context(), row.ID, true, tenant.SecretWebhook, now); err != nil || len(got) != 2 {
			t.Errorf("after a rotation with an overlap: %+v, %v", got, err)
		}
		// Retiring ends only the old secrets, and finds none the second time.
		wantNoError(t, s.RetireSecrets(t.Context(), row.ID, true, tenant.SecretWebhook, now, anAct))
		if got, err := s.Secrets(t.Context(), row.ID, true, tenant.SecretWebhook, now); err != nil || len(got) != 1 ||
			got[0].State != tenant.SecretActive {
			t.Errorf("after the old ones retired: %+v, %v", got, err)
		}
		wantCode(t, "RetireSecrets again", s.RetireSecrets(t.Context(), row.ID, true, tenant.SecretWebhook, now, anAct),
			fault.NotFound)
		if got, err := s.Secrets(t.Context(), row.ID, false, tenant.SecretWebhook, start); err != nil || len(got) != 0 {
			t.Errorf("test mode has %d secrets, %v", len(got), err)
		}
	})
}
