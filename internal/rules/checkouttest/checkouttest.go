// Package checkouttest finds the files that tests read in the checkout.
package checkouttest

import (
	"os"
	"path/filepath"
)

// Root returns the top directory of the checkout, in which the working directory is. It
// panics outside of a checkout.
func Root() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "openapi.yaml")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			panic("no directory above the working directory has an openapi.yaml")
		}
		dir = filepath.Dir(dir)
	}
	panic(err)
}
