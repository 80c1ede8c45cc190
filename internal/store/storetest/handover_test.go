package storetest

import (
	"reflect"
	"testing"
	"time"

	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
)

func TestHandover(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		sess := newSession(t, s, newTenant(t, s))
		want := session.Handover{
			LinkHash: sess.LinkHash, Nonce: make([]byte, 16), TokenHash: digest("first"),
			ExpiresAt: stored(start.Add(session.HandoverTTL)),
		}
		inTx(t, s, func(tx session.Tx) error { return tx.PutHandover(want) })
		for name, read := range map[string]func() (session.Handover, error){
			"of the session": func() (session.Handover, error) { return s.HandoverOf(t.Context(), sess.LinkHash) },
			"by its token":   func() (session.Handover, error) { return s.HandoverByToken(t.Context(), digest("first")) },
		} {
			if got, err := read(); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("handover %s = %+v, %v\nwant %+v", name, got, err, want)
			}
		}
		_, err := s.HandoverByToken(t.Context(), digest("unknown"))
		wantCode(t, "an unknown token", err, fault.NotFound)

		take := func(token, phone string, after time.Duration, want bool) {
			t.Helper()
			inTx(t, s, func(tx session.Tx) error {
				got, err := tx.TakeHandover(digest(token), digest(phone), start.Add(after))
				if got != want {
					t.Errorf("%s takes %s after %v: %v", phone, token, after, got)
				}
				return err
			})
		}
		take("first", "late phone", session.HandoverTTL, false)
		take("first", "phone", session.HandoverTTL-microsecond, true)
		take("first", "phone", time.Minute, false)
		take("first", "other phone", time.Minute, false)

		want.TokenHash = digest("second")
		inTx(t, s, func(tx session.Tx) error { return tx.PutHandover(want) })
		_, err = s.HandoverByToken(t.Context(), digest("first"))
		wantCode(t, "a replaced token", err, fault.NotFound)
		take("second", "other phone", time.Minute, true)
	})
}
