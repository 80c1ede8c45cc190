package credential

import (
	"encoding/base64"
	"encoding/binary"
	"io"
	"time"
)

// linkTime is how many bytes of an ordered link's token and of its hash are the
// time.
const linkTime = 4

// NewLink returns the token of a verification link, 43 base64url characters of 32
// bytes, and the hash under which its session is stored.
//
// The bytes of a token are random, and its hash is HashToken. If the link is
// ordered, its token's first four bytes and its hash's first four bytes are the
// time in seconds since 1970 (big endian) instead; 224 bits of both are left.
// The hashes of links made one after the other are then neighbours in an index,
// which otherwise grows at a random place with each link.
func NewLink(random io.Reader, at time.Time, ordered bool) (token string, hash []byte, err error) {
	raw, err := NewSecret(random)
	if err != nil {
		return "", nil, err
	}
	if ordered {
		//nolint:gosec // begins again at 0 in 2106, which only ends the order
		binary.BigEndian.PutUint32(raw, uint32(at.Unix()))
	}
	token = base64.RawURLEncoding.EncodeToString(raw)
	hash = HashToken(token)
	if ordered {
		copy(hash, raw[:linkTime])
	}
	return token, hash, nil
}

// LinkHashes returns the hashes under which the session of a verification link may be
// stored. The token may be any text: only a token that NewLink returned has the hash of
// a session.
func LinkHashes(token string) [][]byte {
	plain := HashToken(token)
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != SecretLen {
		return [][]byte{plain}
	}
	return [][]byte{plain, append(raw[:linkTime:linkTime], plain[linkTime:]...)}
}
