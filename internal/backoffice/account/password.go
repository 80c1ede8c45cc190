package account

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"agegate/internal/rules/turn"

	"github.com/google/uuid"
	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// The parameters of argon2id are OWASP's first choice for interactive log-ins with 19 MiB.
const (
	argonMemory  = 19 << 10 // KiB
	argonTime    = 2
	argonThreads = 1
	argonSalt    = 16 // bytes
	argonKey     = 32 // bytes
)

// Limits of a password, in characters.
const (
	MinPassword = 12
	MaxPassword = 128
)

// hashesAtOnce is how many passwords a process hashes at the same time: they share the cores with the estimates.
const hashesAtOnce = 2

// hashesWaiting is how many checks of one party may wait for their turn.
const hashesWaiting = 40

// party is for whom a password is hashed. Parties share the turns fairly. A party is a user in a browser that has
// signed in before, the tenant of an invitation, or all unknown browsers together.
type party uuid.UUID

var strangers party

// hasher hashes passwords, a few at a time.
type hasher struct {
	random io.Reader
	turns  *turn.Queue
	memory uint32 // KiB for a new hash
	// key is argon2.IDKey; tests replace it to count calls.
	key func(password, salt []byte, time, memory uint32, threads uint8, size uint32) []byte
}

func newHasher(random io.Reader, memory uint32) hasher {
	return hasher{random: random, turns: turn.NewQueue(hashesAtOnce, hashesWaiting), memory: memory, key: argon2.IDKey}
}

// hash returns the PHC string of a password.
func (h hasher) hash(ctx context.Context, by party, password string) (string, error) {
	salt := make([]byte, argonSalt)
	if _, err := io.ReadFull(h.random, salt); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	key, err := h.derive(ctx, by, password, salt, argonTime, h.memory, argonThreads)
	if err != nil {
		return "", err
	}
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, h.memory, argonTime, argonThreads, encode(salt), encode(key)), nil
}

// matches reports whether a password belongs to a PHC string. For an empty string
// it returns false after the same amount of work.
func (h hasher) matches(ctx context.Context, by party, phc, password string) (bool, error) {
	if phc == "" {
		_, err := h.derive(ctx, by, password, make([]byte, argonSalt), argonTime, h.memory, argonThreads)
		return false, err
	}
	p, err := parsePHC(phc)
	if err != nil {
		return false, err
	}
	key, err := h.derive(ctx, by, password, p.salt, p.time, p.memory, p.threads)
	return err == nil && subtle.ConstantTimeCompare(key, p.key) == 1, err
}

// derive waits for a turn, at most until ctx ends. It cuts a password that is too long,
// so that long passwords do not cost more. No stored password is that long.
func (h hasher) derive(
	ctx context.Context, by party, password string, salt []byte, time, memory uint32, threads uint8,
) ([]byte, error) {
	leave, err := h.turns.Take(ctx, uuid.UUID(by))
	if err != nil {
		return nil, err
	}
	defer leave()
	if len(password) > 4*MaxPassword+1 {
		password = password[:4*MaxPassword+1]
	}
	return h.key([]byte(norm.NFKC.String(password)), salt, time, memory, threads, argonKey), nil
}

// phcString is a parsed hash in the PHC string format.
type phcString struct {
	time, memory uint32
	threads      uint8
	salt, key    []byte
}

// errPHC never contains the stored value.
var errPHC = errors.New("account: a stored password hash cannot be read")

func parsePHC(s string) (phcString, error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return phcString{}, errPHC
	}
	var p phcString
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.time, &p.threads); err != nil || p.time == 0 ||
		p.threads == 0 {
		return phcString{}, errPHC
	}
	var err1, err2 error
	p.salt, err1 = base64.RawStdEncoding.DecodeString(parts[4])
	p.key, err2 = base64.RawStdEncoding.DecodeString(parts[5])
	if err := errors.Join(err1, err2); err != nil || len(p.key) != argonKey {
		return phcString{}, errPHC
	}
	return p, nil
}

// common are words that guessers try first, alone or with digits and signs around them.
var common = []string{
	"password", "passwort", "passphrase", "qwertyuiop", "qwertzuiop", "qwerty", "qwertz", "asdfghjkl", "asdf",
	"letmein", "welcome", "willkommen", "iloveyou", "administrator", "admin", "secret", "geheim", "changeme",
	"default", "dashboard", "agegate", "login", "user", "test", "monkey", "dragon", "football", "sunshine",
	"abcdefghijklmnopqrstuvwxyz", "abcdef", "abc",
}

// minOwn is the minimum number of different letters of a password outside common words. A password with fewer is
// accepted if distinctRuns counts at least twice minOwn characters outside common words.
const minOwn = 4

// checkPassword refuses a password that is too short or too long, contains the user's name or address or a name in
// near, or is little more than common words and digits. There are no rules about kinds of characters.
func checkPassword(password, name, email string, near ...string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		return ErrPasswordShort
	case n > MaxPassword || !utf8.ValidString(password):
		return ErrPasswordLong
	}
	folded := strings.ToLower(norm.NFKC.String(password))
	local, _, _ := strings.Cut(email, "@")
	for _, own := range append([]string{local, name}, near...) {
		if len(own) >= 4 && strings.Contains(folded, strings.ToLower(own)) {
			return ErrPasswordCommon
		}
	}
	for _, word := range common {
		folded = strings.ReplaceAll(folded, word, " ")
	}
	letters := map[rune]bool{}
	for _, r := range folded {
		if unicode.IsLetter(r) {
			letters[r] = true
		}
	}
	if len(letters) < minOwn && distinctRuns(folded) < 2*minOwn {
		return ErrPasswordCommon
	}
	return nil
}

// distinctRuns counts the different characters of s. It does not count a character that
// repeats or continues the one before, as in 1111 and 1234.
func distinctRuns(s string) int {
	seen := map[rune]bool{}
	last := rune(-2)
	for _, r := range s {
		if step := r - last; step < -1 || step > 1 {
			seen[r] = true
		}
		last = r
	}
	return len(seen)
}
