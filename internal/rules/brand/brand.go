// Package brand adapts a merchant's look to the hosted page: it derives readable
// accents from one colour, and turns an uploaded picture into a small PNG.
package brand

import (
	"crypto/sha256"
	"encoding/hex"
)

// Brand is how a merchant's hosted page looks. Empty values are not set.
type Brand struct {
	Name     string // shown to shoppers in place of the tenant's name
	Colour   Colour
	LogoHash string // Hash of the stored logo
}

// Hash returns the first 32 hex digits of the content's SHA-256, under which it is served.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}
