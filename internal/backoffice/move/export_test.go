package move

import "io"

// Tests make files that cost little to open.
var _ = SetWork(10)

// SetWork sets the work factor of new files and returns a function that undoes it.
func SetWork(n int) func() {
	old := makeWork
	makeWork = n
	return func() { makeWork = old }
}

// ReadPlain reads decrypted content.
func ReadPlain(r io.Reader) (*Reader, error) { return newReader(r) }
