package pgtest

import (
	"syscall"
	"testing"
)

// endServers waits for the end of the test, however it ends. Then it kills the servers
// with data directories below the directory, and removes the directory. It kills
// twice, because a program that watches a server may start it again before it is
// killed itself.
const endServers = `read -r _
for _ in 1 2; do
	for pid in "$1"/*/postmaster.pid "$1"/*/*/postmaster.pid; do
		[ ! -e "$pid" ] || kill -KILL $(head -n 1 "$pid") 2>/dev/null
	done
	sleep 0.2
done
cd / && rm -rf "$1"`

// Workplace returns a directory for servers that the test starts itself, the user to
// start them as (nil: the current one), and the directory bin of the binaries. When
// the test ends, servers that still run are killed and the directory is removed.
func Workplace(t testing.TB) (dir, bin string, as *syscall.Credential) {
	t.Helper()
	dir, bin, as, err := equipped(onDisk)
	if err != nil {
		t.Fatal(err)
	}
	background(t, as, endServers, dir)
	return dir, bin, as
}
