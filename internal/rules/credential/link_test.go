package credential

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestLinkKnownAnswer(t *testing.T) {
	at := time.Date(2026, 11, 24, 2, 30, 15, 999_999_000, time.UTC)
	for _, known := range []struct {
		ordered     bool
		token, hash string
	}{
		{false, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
			"ea866a757e4c38babfa8127cbe9a409d3e1f93a00ff1488ff735fcf917afffd0"},
		{true, "awT2twQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
			"6b04f6b7b5b00bc89c5a09d7b3674d9846aba79518da00d30566c6ba0f958e65"},
	} {
		token, hash, err := NewLink(bytes.NewReader(countingKey()), at, known.ordered)
		if err != nil || token != known.token || hex.EncodeToString(hash) != known.hash {
			t.Errorf("ordered %t: got %s, %x, %v", known.ordered, token, hash, err)
		}
	}
}

// finds reports whether the session of a hash is found by a token.
func finds(token string, hash []byte) bool {
	for _, h := range LinkHashes(token) {
		if bytes.Equal(h, hash) {
			return true
		}
	}
	return false
}

// TestLinksAreFound: a session is found by its link's token of either form, and by
// no other text, not even one that differs in a single character.
func TestLinksAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "time"), 0)
		token, hash, err := NewLink(rand.Reader, at, rapid.Bool().Draw(t, "ordered"))
		if err != nil || len(token) != 43 || len(hash) != 32 {
			t.Fatalf("a token of %d characters with a hash of %d bytes, %v", len(token), len(hash), err)
		}
		if !finds(token, hash) {
			t.Fatal("the token does not find its session")
		}
		other := []byte(token)
		switch i := rapid.IntRange(0, len(other)-1).Draw(t, "position"); rapid.IntRange(0, 3).Draw(t, "how") {
		case 0: // changed, in the time, at random or in the bits that base64 leaves over
			other[i] = rapid.SampledFrom([]byte(base62+"-_= .")).Filter(func(b byte) bool { return b != other[i] }).Draw(t,
				"character")
		case 1:
			other = append(other[:i], other[i+1:]...)
		case 2:
			other = append(other, other[i])
		case 3:
			other = rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(t, "text")
		}
		if finds(string(other), hash) {
			t.Fatal("another text finds the session")
		}
	})
}

// TestOrderedLinks: hashes follow the time, and two links of one second differ.
func TestOrderedLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		second := rapid.Int64Range(0, 1<<32-2)
		a, b := second.Draw(t, "a"), second.Draw(t, "b")
		_, first, err := NewLink(rand.Reader, time.Unix(a, 0), true)
		if err != nil {
			t.Fatal(err)
		}
		_, then, err := NewLink(rand.Reader, time.Unix(b, 0), true)
		if err != nil {
			t.Fatal(err)
		}
		if order := bytes.Compare(first, then); order == 0 || a != b && (order < 0) != (a < b) {
			t.Fatalf("the hashes of %d and %d compare as %d", a, b, order)
		}
	})
}
