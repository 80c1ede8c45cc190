package account

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/credential"

	"github.com/google/uuid"
)

// The vectors are those of RFC 6238, appendix B, for SHA-1, with the last six of their eight digits.
func TestTOTPVectors(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037",
		20000000000: "353130",
	} {
		if got := totpCode(secret, totpStep(time.Unix(at, 0))); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

func TestTOTPSkew(t *testing.T) {
	t.Parallel()
	secret, now := []byte("12345678901234567890"), time.Unix(1234567890, 0)
	for offset := int64(-3); offset <= 3; offset++ {
		step, ok := matchTOTP(secret, totpCode(secret, totpStep(now)+offset), now)
		if ok != (offset >= -1 && offset <= 1) || ok && step != totpStep(now)+offset {
			t.Errorf("%d steps off: %d, %v", offset, step, ok)
		}
	}
	for _, code := range []string{"", "5924", "0005924", "005925", "００5924"} {
		if _, ok := matchTOTP(secret, code, now); ok {
			t.Errorf("%q is accepted", code)
		}
	}
	if _, ok := matchTOTP(secret, "005 924", now); !ok {
		t.Error("a code with a space is refused")
	}
}

func TestTOTPURI(t *testing.T) {
	t.Parallel()
	const want = "otpauth://totp/agegate%20gate.example:ada@shop.example?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=agegate%20gate.example"
	if got := totpURI([]byte("12345678901234567890"), "gate.example", "ada@shop.example"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	codes, hashes, err := newCodes(rand.Reader)
	if err != nil || len(codes) != 10 || len(hashes) != 10 {
		t.Fatalf("%d codes, %d hashes, %v", len(codes), len(hashes), err)
	}
	for i, code := range codes {
		for _, typed := range []string{code, strings.ToLower(code), strings.ReplaceAll(code, "-", " "),
			strings.NewReplacer("0", "o", "1", "l").Replace(code)} {
			if !bytes.Equal(hashCode(typed), hashes[i]) {
				t.Errorf("%q is not %q", typed, code)
			}
		}
	}
}

// A ticket opens only for its own purpose, until it expires, and unchanged.
func TestTickets(t *testing.T) {
	t.Parallel()
	sealer, err := credential.NewSealer(bytes.Repeat([]byte{7}, credential.SecretLen), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1234567890, 0)
	s := NewService(Config{Sealer: sealer, Random: rand.Reader, Now: func() time.Time { return now }})
	id := uuid.New()
	sealed, err := s.seal(forSecond, id, time.Minute, []byte("data"))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := s.open(forSecond, sealed); !ok || got.userID != id || string(got.data) != "data" {
		t.Errorf("got %+v, %v", got, ok)
	}
	for _, p := range []purpose{forDevice, forTOTP, forCreating, forLoggingIn, forStepUp} {
		if _, ok := s.open(p, sealed); ok {
			t.Errorf("it opens as %s", p)
		}
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, ok := s.open(forSecond, changed); ok {
			t.Errorf("it opens with byte %d changed", i)
		}
	}
	now = now.Add(time.Minute)
	if _, ok := s.open(forSecond, sealed); ok {
		t.Error("it opens after its end")
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{
		0: 0, 9: 0, 10: time.Second, 11: 2 * time.Second, 19: 512 * time.Second, 20: longestWait, 1 << 40: longestWait,
	} {
		if got := delay(failures); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
	}
}
