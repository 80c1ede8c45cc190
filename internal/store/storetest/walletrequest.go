package storetest

import (
	"bytes"
	"reflect"
	"sync/atomic"
	"testing"

	"agegate/internal/check/document"
	"agegate/internal/rules/fault"
)

func testWalletRequest(t *testing.T, s Store) {
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
	wantCode(t, "a request of no session", s.PutWalletRequest(ctx, document.WalletRequest{LinkHash: digest("nobody"), Nonce: nonce(1)}), fault.NotFound)

	wantNoError(t, s.PutWalletRequest(ctx, document.WalletRequest{LinkHash: sess.LinkHash, Nonce: nonce(1)}))
	bystander := document.WalletRequest{LinkHash: other.LinkHash, Nonce: nonce(1)}
	wantNoError(t, s.PutWalletRequest(ctx, bystander))
	record(2, "proved", true, false)
	record(1, "issuer_unknown", false, true)
	record(1, "malformed", false, true)
	holds("refused", document.WalletRequest{LinkHash: sess.LinkHash, Nonce: nonce(1), Outcome: "malformed"})
	record(1, "proved", true, true)
	record(1, "malformed", false, false)
	record(1, "under_age", true, false)
	holds("proved", document.WalletRequest{LinkHash: sess.LinkHash, Nonce: nonce(1), Outcome: "proved", Final: true})
	wantNoError(t, s.PutWalletRequest(ctx, document.WalletRequest{LinkHash: sess.LinkHash, Nonce: nonce(2)}))
	record(1, "proved", true, false)
	holds("replaced", document.WalletRequest{LinkHash: sess.LinkHash, Nonce: nonce(2)})

	if taken, err := s.TakeWalletRequest(ctx, sess.LinkHash, nonce(1)); err != nil || taken {
		t.Errorf("a replaced request was taken: %t, %v", taken, err)
	}
	var takers atomic.Int32
	concurrently(10, func(int) {
		taken, err := s.TakeWalletRequest(ctx, sess.LinkHash, nonce(2))
		if err != nil {
			t.Error(err)
		}
		if taken {
			takers.Add(1)
		}
	})
	if takers.Load() != 1 {
		t.Errorf("%d took one request", takers.Load())
	}
	holds("another session's", bystander)
}
