//go:build linux

package chaos

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// Programs that the tests run, built by TestMain.
var (
	binary string // cmd/agegate
	skewed string // the same gateway with another clock
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests mostly wait, above all for leases to end, so many can run in
	// parallel. The short form runs fewer, because it shares its machine with
	// others.
	table.SideBySide(table.Sized(32, 8))
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "agegate-chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary, skewed = filepath.Join(dir, "agegate"), filepath.Join(dir, "skewed")
	for path, source := range map[string]string{binary: "../../cmd/agegate", skewed: "skewed"} {
		if out, err := exec.Command("go", "build", "-C", source, "-o", path, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building %s: %v\n%s", source, err, out)
			return 1
		}
	}
	code := m.Run()
	table.Print(os.Stdout)
	return code
}

// beside runs the test in parallel with others. A test with alone set has time limits,
// or would slow down the others: it is alone in the full run.
func beside(t *testing.T, alone bool) {
	if alone {
		table.Beside(t)
	} else {
		t.Parallel()
	}
}

// database is a database that a gateway runs on.
type database struct{ name, url string }

// named returns the name of a fault on this database, as shown in the table.
func (db database) named(fault string) string { return fault + ", " + db.name }

// onEach causes the fault on SQLite and on PostgreSQL.
func onEach(t *testing.T, alone bool, fault func(t *testing.T, db database)) {
	beside(t, alone)
	t.Run("sqlite", func(t *testing.T) {
		beside(t, alone)
		fault(t, sqlite(t))
	})
	onPostgreSQL(t, alone, fault)
}

// onServer causes a fault in which the kind of database has no part: on PostgreSQL,
// and in the full run on SQLite, too.
func onServer(t *testing.T, alone bool, fault func(t *testing.T, db database)) {
	if table.Full() {
		onEach(t, alone, fault)
		return
	}
	beside(t, alone)
	onPostgreSQL(t, alone, fault)
}

func onPostgreSQL(t *testing.T, alone bool, fault func(t *testing.T, db database)) {
	t.Run("postgres", func(t *testing.T) {
		beside(t, alone)
		fault(t, postgres(t))
	})
}

// sqlite returns a new database, whose file is there so that commands work before a gateway has started.
func sqlite(t *testing.T) database {
	path := filepath.Join(t.TempDir(), "agegate.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return database{"SQLite", "sqlite:" + path}
}

func postgres(t *testing.T) database { return database{"PostgreSQL", pgtest.URL(t)} }
