package storetest

import (
	"bytes"
	"reflect"
	"sync/atomic"
	"testing"

	"agegate/internal/check/document"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
)

func TestWalletRequest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		ctx := t.Context()
		sess, other := newSession(t, s, newTenant(t, s)), newSession(t, s, newTenant(t, s))
		nonce := func(n byte) []byte { return bytes.Repeat([]byte{n}, 16) }
		holds := func(when string, want document.WalletRequest) {
			t.Helper()
			if got, err := s.WalletRequestOf(ctx, want.LinkHash); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, %v\nwant %+v", when, got, err, want)
			}
		}
		record := func(n byte, outcome string, final, want bool) {
			t.Helper()
			if got, err := s.RecordWalletOutcome(ctx, sess.LinkHash, nonce(n), outcome, final); err != nil || got != want {
				t.Errorf("recording %s for request %d: %t, %v", outcome, n, got, err)
			}
		}
		_, err := s.WalletRequestOf(ctx, sess.LinkHash)
		wantCode(t, "no request", err, fault.NotFound)
		err = s.UpdateSessions(ctx, func(tx session.Tx) error {
			_, err := tx.ReplaceWalletRequest(digest("nobody"), nonce(1))
			return err
		})
		wantCode(t, "a request of no session", err, fault.NotFound)

		replace := func(of session.Session, next []byte, want bool) {
			t.Helper()
			inTx(t, s, func(tx session.Tx) error {
				got, err := tx.ReplaceWalletRequest(of.LinkHash, next)
				if got != want {
					t.Errorf("replacing by %v: %t, want %t", next, got, want)
				}
				return err
			})
		}
		take := func(n byte) (taken bool) {
			err := s.UpdateSessions(ctx, func(tx session.Tx) (err error) {
				taken, err = tx.TakeWalletRequest(sess.LinkHash, nonce(n))
				return err
			})
			if err != nil {
				t.Error(err)
			}
			return taken
		}
		replace(sess, nil, true)
		replace(sess, nonce(1), true)
		bystander := document.WalletRequest{LinkHash: other.LinkHash, Nonce: nonce(1)}
		replace(other, nonce(1), true)
		record(2, "proved", true, false)
		record(1, "issuer_unknown", false, true)
		record(1, "malformed", false, true)
		holds("refused", document.WalletRequest{LinkHash: sess.LinkHash, Nonce: nonce(1), Outcome: "malformed"})
		record(1, "proved", true, true)
		record(1, "malformed", false, false)
		record(1, "under_age", true, false)
		holds("proved", document.WalletRequest{LinkHash: sess.LinkHash, Nonce: nonce(1), Outcome: "proved", Final: true})
		replace(sess, nonce(2), false)
		replace(sess, nil, false)
		holds("not replaced", document.WalletRequest{LinkHash: sess.LinkHash, Nonce: nonce(1), Outcome: "proved",
			Final: true})
		if !take(1) {
			t.Error("the request was not taken")
		}
		replace(sess, nonce(1), true)
		record(1, "malformed", false, true)
		replace(sess, nonce(2), true)
		record(1, "proved", true, false)
		holds("replaced", document.WalletRequest{LinkHash: sess.LinkHash, Nonce: nonce(2)})
		if take(1) {
			t.Error("a replaced request was taken")
		}
		replace(sess, nil, true)
		_, err = s.WalletRequestOf(ctx, sess.LinkHash)
		wantCode(t, "an ended request", err, fault.NotFound)
		replace(sess, nonce(2), true)
		var takers atomic.Int32
		concurrently(10, func(int) {
			if take(2) {
				takers.Add(1)
			}
		})
		if takers.Load() != 1 {
			t.Errorf("%d took one request", takers.Load())
		}
		holds("another session's", bystander)
		found, err := s.WalletRequestByNonce(ctx, bystander.Nonce)
		if err != nil || !reflect.DeepEqual(found, bystander) {
			t.Errorf("by its nonce: %+v, %v", found, err)
		}
		_, err = s.WalletRequestByNonce(ctx, nonce(3))
		wantCode(t, "no request with this nonce", err, fault.NotFound)
	})
}
