package credential

import (
	"bytes"
	"crypto/rand"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"
)

// countingKey is bytes 00..1f, the key of every known answer.
func countingKey() []byte {
	key := make([]byte, SecretLen)
	for i := range key {
		key[i] = byte(i)
	}
	return key
}

const (
	knownSession = "3f2b8c1e-9d4a-4f6b-8a57-0c1d2e3f4a5b"
	knownToken   = "1767225600.slfl0m62Hp6cILJ_niu6Z16vtBKHc9YORSXIuOaA8vg"
)

var known = Redirect{Session: knownSession, Status: "VERIFIED", IsAdult: true}

func TestRedirectTokenKnownAnswer(t *testing.T) {
	if got := known.Token(countingKey(), time.Unix(1767225600, 0)); got != knownToken {
		t.Errorf("got %s, want %s", got, knownToken)
	}
}

func TestRedirectURL(t *testing.T) {
	for _, tt := range []struct{ name, success, want string }{
		{"no query", "https://s.example/ok", "https://s.example/ok?token=T&session=" + knownSession +
			"&status=VERIFIED&is_adult=true"},
		{"keeps others in place", "https://s.example/ok?b=2&a=1%20x", "https://s.example/ok?b=2&a=1%20x&token=T&session=" +
			knownSession + "&status=VERIFIED&is_adult=true"},
		{"replaces its own", "https://s.example/?token=evil&x=1&t%6fken=evil&status",
			"https://s.example/?x=1&token=T&session=" + knownSession + "&status=VERIFIED&is_adult=true"},
		{"escapes what a header cannot carry", "https://s.example/ö?ä=ü&\"<>'=%zz#ß",
			"https://s.example/%C3%B6?%C3%A4=%C3%BC&%22%3C%3E'=%zz&token=T&session=" + knownSession +
				"&status=VERIFIED&is_adult=true#%C3%9F"},
		{"keeps the fragment", "https://s.example/#a", "https://s.example/?token=T&session=" + knownSession +
			"&status=VERIFIED&is_adult=true#a"},
	} {
		got, err := RedirectURL(tt.success, known, "T")
		if err != nil || got != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}

func FuzzRedirectURL(f *testing.F) {
	f.Fuzz(func(t *testing.T, success string) {
		if u, err := url.Parse(success); err != nil || u.Host == "" {
			return // such URLs cannot be registered
		}
		to, err := RedirectURL(success, known, "T")
		if err != nil {
			t.Fatalf("%q: %v", success, err)
		}
		if strings.ContainsFunc(to, func(c rune) bool { return c <= ' ' || c > '~' }) {
			t.Errorf("%q is not for a header", to)
		}
		u, err := url.Parse(to)
		if err != nil {
			t.Fatalf("%q does not parse", to)
		}
		if q, err := url.ParseQuery(u.RawQuery); err == nil && (len(q["token"]) != 1 || q.Get("token") != "T") {
			t.Errorf("%q does not carry exactly our token", to)
		}
	})
}

func TestResealing(t *testing.T) {
	oldKey, newKey, strangeKey := make([]byte, SecretLen), countingKey(), bytes.Repeat([]byte{7}, SecretLen)
	sealer := func(key []byte, previous ...[]byte) *Sealer {
		t.Helper()
		s, err := NewSealer(key, rand.Reader, previous...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before, during, after := sealer(oldKey), sealer(newKey, oldKey), sealer(newKey)
	sealed, err := before.Seal([]byte("secret"), "row 1")
	if err != nil {
		t.Fatal(err)
	}
	opens := func(s *Sealer, value []byte) bool {
		plain, err := s.Open(value, "row 1")
		if err != nil && !errors.Is(err, ErrSealed) {
			t.Errorf("got %v", err)
		}
		return err == nil && string(plain) == "secret"
	}
	resealed, err := during.Reseal(sealed, "row 1")
	if err != nil || !opens(before, sealed) || !opens(during, sealed) || opens(after, sealed) ||
		opens(before, resealed) || !opens(during, resealed) || !opens(after, resealed) {
		t.Errorf("resealing: %v", err)
	}
	if again, err := during.Reseal(resealed, "row 1"); again != nil || err != nil {
		t.Errorf("what is under the first key was resealed: %v", err)
	}
	made, err := during.Seal([]byte("secret"), "row 1")
	if err != nil || opens(before, made) || !opens(after, made) {
		t.Errorf("a new value is not under the first key: %v", err)
	}
	if _, err := sealer(strangeKey, oldKey).Reseal(resealed, "row 1"); !errors.Is(err, ErrSealed) {
		t.Errorf("resealing under strange keys: %v", err)
	}
	if _, err := during.Reseal(sealed, "row 2"); !errors.Is(err, ErrSealed) {
		t.Errorf("resealing another row's value: %v", err)
	}
	if _, err := NewSealer(newKey, rand.Reader, oldKey[:16]); err == nil {
		t.Error("a short previous key is accepted")
	}
}

func TestSealer(t *testing.T) {
	sealer, err := NewSealer(countingKey(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := sealer.Seal([]byte("secret"), "row 1")
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := sealer.Open(sealed, "row 1"); err != nil || string(plain) != "secret" {
		t.Errorf("got %q, %v", plain, err)
	}
	other, err := NewSealer(make([]byte, SecretLen), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() ([]byte, error){
		"another row":  func() ([]byte, error) { return sealer.Open(sealed, "row 2") },
		"another key":  func() ([]byte, error) { return other.Open(sealed, "row 1") },
		"one bit off":  func() ([]byte, error) { sealed[len(sealed)-1] ^= 1; return sealer.Open(sealed, "row 1") },
		"too short":    func() ([]byte, error) { return sealer.Open(sealed[:5], "row 1") },
		"short sealer": func() ([]byte, error) { _, err := NewSealer(make([]byte, 16), rand.Reader); return nil, err },
	} {
		if _, err := open(); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

func TestSecretFormats(t *testing.T) {
	const encoded = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	for got, want := range map[string]string{
		FormatWebhookSecret(countingKey()):         "whsec_" + encoded,
		FormatRedirectSecret(countingKey(), false): "rdsec_test_" + encoded,
		FormatRedirectSecret(countingKey(), true):  "rdsec_live_" + encoded,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
