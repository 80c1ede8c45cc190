package pgtest

import (
	"os"
	"syscall"
)

// roomy is how much free memory, in bytes, a directory in memory must offer.
const roomy = 2 << 30

// MemoryDir returns a directory in memory for a test's database, so that it waits for
// no disk. If the system has none, or too little room in it, MemoryDir returns the
// directory of temporary files.
func MemoryDir() string {
	const shared = "/dev/shm" // of Linux
	var fs syscall.Statfs_t
	if err := syscall.Statfs(shared, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < roomy { //nolint:gosec // a size
		return os.TempDir()
	}
	if f, err := os.CreateTemp(shared, "agegate-"); err != nil || f.Close() != nil || os.Remove(f.Name()) != nil {
		return os.TempDir()
	}
	return shared
}
