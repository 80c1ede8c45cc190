package account

import (
	"context"
	"crypto/rand"

	"golang.org/x/crypto/argon2"
)

// Derivation is the cost of one computation of argon2id.
type Derivation struct {
	Time, Memory uint32
	Threads      uint8
	Size         uint32
}

// Full is the cost of checking a password.
var Full = Derivation{argonTime, argonMemory, argonThreads, argonKey}

// Watch calls seen for every derivation of a service.
func Watch(s *Service, seen func(Derivation)) {
	s.hasher.key = func(password, salt []byte, time, memory uint32, threads uint8, size uint32) []byte {
		seen(Derivation{time, memory, threads, size})
		return argon2.IDKey(password, salt, time, memory, threads, size)
	}
}

// Cheapen makes a service's derivations free; no password matches then.
func Cheapen(s *Service) {
	s.hasher.key = func(_, _ []byte, _, _ uint32, _ uint8, size uint32) []byte { return make([]byte, size) }
}

// NetworkChecks is how many checks a network may use in a NetworkWindow.
const (
	NetworkChecks = networkChecks
	NetworkWindow = networkWindow
)

// Little is so little memory, in KiB, that a hash takes nearly no time.
const Little = 64

// Hash returns the PHC string of a password, hashed with an amount of memory in KiB.
func Hash(ctx context.Context, memory uint32, password string) (string, error) {
	return newHasher(rand.Reader, memory).hash(ctx, strangers, password)
}

// Limits of the throttles, for tests.
const (
	FreeFailures  = freeFailures
	ChecksASecond = checksASecond
	OwnChecks     = ownChecks
	LinkChecks    = linkChecks
)
