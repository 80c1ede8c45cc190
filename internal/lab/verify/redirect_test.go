package verify

import (
	"errors"
	"testing"
	"time"

	"agegate/internal/rules/credential"

	"pgregory.net/rapid"
)

const (
	knownSession = "3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b"
	knownToken   = "1767225600.slfl0m62Hp6cILJ_niu6Z16vtBKHc9YORSXIuOaA8vg"
)

var known = credential.Redirect{Session: knownSession, Status: "VERIFIED", IsAdult: true}

func TestRedirectToken(t *testing.T) {
	at := time.Unix(1767225600, 0)
	for _, tt := range []struct {
		name  string
		token string
		claim credential.Redirect
		now   time.Time
		want  error
	}{
		{"good", knownToken, known, at.Add(-time.Minute), nil},
		{"in its last second", knownToken, known, at, nil},
		{"a second late", knownToken, known, at.Add(time.Second), ErrTokenExpired},
		{"another session", knownToken, credential.Redirect{Session: "3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5c", Status: "VERIFIED", IsAdult: true}, at,
			ErrTokenSignature},
		{"another status", knownToken, credential.Redirect{Session: knownSession, Status: "ROUTED_TO_FALLBACK", IsAdult: true}, at, ErrTokenSignature},
		{"not adult", knownToken, credential.Redirect{Session: knownSession, Status: "VERIFIED", IsAdult: false}, at, ErrTokenSignature},
		{"longer life", "1767225601.slfl0m62Hp6cILJ_niu6Z16vtBKHc9YORSXIuOaA8vg", known, at, ErrTokenSignature},
		{"leading zero", "0" + knownToken, known, at, ErrTokenMalformed},
		{"padded", knownToken + "=", known, at, ErrTokenMalformed},
		{"line break", knownToken + "\n", known, at, ErrTokenMalformed},
		{"truncated", knownToken[:30], known, at, ErrTokenMalformed},
		{"no dot", "1767225600", known, at, ErrTokenMalformed},
		{"empty", "", known, at, ErrTokenMalformed},
	} {
		if err := RedirectToken(vectorKey(), tt.token, tt.claim, tt.now); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestNoMutatedTokenVerifies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mutated := []byte(knownToken)
		i := rapid.IntRange(0, len(mutated)-1).Draw(t, "position")
		mutated[i] = rapid.ByteRange(0, 127).Filter(func(b byte) bool { return b != mutated[i] }).Draw(t, "byte")
		if RedirectToken(vectorKey(), string(mutated), known, time.Unix(0, 0)) == nil {
			t.Fatalf("%q verifies", mutated)
		}
	})
}

func FuzzRedirectToken(f *testing.F) {
	f.Fuzz(func(t *testing.T, token string) {
		err := RedirectToken(vectorKey(), token, known, time.Unix(1767225600, 0))
		if err == nil && token != knownToken {
			t.Errorf("%q verifies", token)
		}
	})
}

func TestSecret(t *testing.T) {
	for _, good := range []string{credential.FormatWebhookSecret(vectorKey()),
		credential.FormatRedirectSecret(vectorKey(), false), credential.FormatRedirectSecret(vectorKey(), true)} {
		if back, err := Secret(good); err != nil || string(back) != string(vectorKey()) {
			t.Errorf("%s does not parse back: %v", good, err)
		}
	}
	for _, bad := range []string{"", "whsec_", "whsec_AAEC", "xxsec_" + vectorSecret, "whsec_!" + vectorSecret[1:]} {
		if _, err := Secret(bad); err == nil {
			t.Errorf("%q parses", bad)
		}
	}
}
