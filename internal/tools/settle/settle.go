// Package settle writes the files that tools derive from others, or reports
// those that are out of date.
package settle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// publicFile is the mode of a new file.
const publicFile = 0o644

// Files writes the files, by path, whose content is another one on the disk.
// With check it writes nothing, and its error names them instead.
func Files(files map[string][]byte, check bool) error {
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(files)) {
		got, err := os.ReadFile(path) //nolint:gosec // a file of the repository
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		case err == nil && bytes.Equal(got, files[path]):
		case check:
			errs = append(errs, fmt.Errorf("%s differs from its source: run make generate", path))
		default:
			errs = append(errs, os.WriteFile(path, files[path], publicFile))
		}
	}
	return errors.Join(errs...)
}
