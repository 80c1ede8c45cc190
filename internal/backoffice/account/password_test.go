package account

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
)

// The string is from the reference implementation's test vectors for argon2id
// version 0x13: password "password", salt "somesalt", t=2, m=2^16 KiB, p=1.
const vector = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"

func TestPasswordVector(t *testing.T) {
	t.Parallel()
	h := newHasher(rand.Reader, argonMemory)
	for password, want := range map[string]bool{"password": true, "passwore": false, "": false} {
		if got, err := h.matches(t.Context(), strangers, vector, password); got != want || err != nil {
			t.Errorf("%q: %v, %v", password, got, err)
		}
	}
}

func TestPasswordHash(t *testing.T) {
	t.Parallel()
	h := newHasher(rand.Reader, argonMemory)
	phc, err := h.hash(t.Context(), strangers, "caf\u00e9 au lait, deux sucres")
	if err != nil || !strings.HasPrefix(phc, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("%q, %v", phc, err)
	}
	for password, want := range map[string]bool{
		// the same text in another normal form
		"caf\u00e9 au lait, deux sucres": true, "cafe\u0301 au lait, deux sucres": true,
		"cafe au lait, deux sucres": false, strings.Repeat("x", 1<<20): false,
	} {
		if got, err := h.matches(t.Context(), strangers, phc, password); got != want || err != nil {
			t.Errorf("%.30q: %v, %v", password, got, err)
		}
	}
	if got, err := h.matches(t.Context(), strangers, "", "anything"); got || err != nil {
		t.Errorf("no password: %v, %v", got, err)
	}
	for _, damaged := range []string{"x", "$argon2id$v=19$m=1,t=0,p=1$AAAA$AAAA",
		strings.Replace(vector, "argon2id", "argon2i", 1), vector[:len(vector)-4]} {
		if got, err := h.matches(t.Context(), strangers, damaged, "password"); got || !errors.Is(err, errPHC) {
			t.Errorf("%s: %v, %v", damaged, got, err)
		}
	}
}

// A check of a password waits for one of the few places, at most as long as its request lasts.
func TestPasswordsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHasher(rand.Reader, argonMemory)
		for range hashesAtOnce {
			if _, err := h.turns.Take(t.Context(), uuid.UUID(strangers)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := h.hash(ctx, strangers, "password")
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestPasswordPolicy(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]error{
		"four owls under a moon":       nil,
		"Tr0ub4dor&3x!":                nil,
		"9f$k2!mq7#zv":                 nil,
		"пароль для кассы":             nil,
		"elevenchars":                  ErrPasswordShort,
		strings.Repeat("ab", 65):       ErrPasswordLong,
		"ada.lovelace is my name":      ErrPasswordCommon,
		"the CORNER CELLAR till":       ErrPasswordCommon,
		"Password123456":               ErrPasswordCommon,
		"qwertyuiop123":                ErrPasswordCommon,
		"1234567890123456":             ErrPasswordCommon,
		"aaaaaaaaaaaaaaaa":             ErrPasswordCommon,
		"agegate-admin-2026":           ErrPasswordCommon,
		"letmein letmein letmein":      ErrPasswordCommon,
		"\uff30assword123456 welcome!": ErrPasswordCommon, // begins with a full-width P
	} {
		if got := checkPassword(password, "Ada", "ada.lovelace@shop.example", "Corner Cellar"); !errors.Is(got, want) ||
			(got == nil) != (want == nil) {
			t.Errorf("%q: %v, want %v", password, got, want)
		}
	}
}

// TestRights: owners have every right, every role may leave, and an unknown role has no right.
func TestRights(t *testing.T) {
	t.Parallel()
	for right := BeMember; right <= Own; right++ {
		if !Owner.May(right) {
			t.Errorf("an owner may not do %d", right)
		}
		if Role("").May(right) || Role("admin").May(right) {
			t.Errorf("an unknown role may do %d", right)
		}
	}
	if len(rights) != len(Roles()) {
		t.Errorf("%d roles have rights, %d are offered", len(rights), len(Roles()))
	}
	for _, role := range Roles() {
		if !role.May(BeMember) {
			t.Errorf("a member of the role %s may not leave", role)
		}
		if role != Owner && role.May(Own) {
			t.Errorf("%s may do what owners may", role)
		}
	}
}

func TestStrongLogins(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		methods []Method
		want    bool
	}{
		{nil, false}, {[]Method{ByPassword}, false}, {[]Method{ByTOTP}, false}, {[]Method{ByTOTP, ByCode}, false},
		{[]Method{ByPassword, ByTOTP}, true}, {[]Method{ByPassword, ByCode}, true}, {[]Method{ByPasskey}, true},
	} {
		if got := (Identity{login: Login{Methods: tt.methods}}).Strong(); got != tt.want {
			t.Errorf("%v: %v", tt.methods, got)
		}
	}
}
