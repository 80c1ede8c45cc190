package store_test

import (
	"database/sql"
	"os"
	"os/exec"
	"testing"
	"time"

	"agegate/internal/store/pgtest"
)

// TestCopyAfterAKill: of a target whose migration was killed on the way, the next copy says
// so, and goes on once the migration has been ended.
func TestCopyAfterAKill(t *testing.T) {
	fromURL, toURL := sqliteURL(t), pgtest.EmptyURL(t)
	from := copyFrom(t, fromURL)
	target, err := sql.Open("pgx", toURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	to := copied{open(t, toURL), target, "$"}
	to.exec(t, `CREATE FUNCTION stall() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
		IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'public.brands') THEN
			PERFORM pg_sleep(600);
		END IF; END $$`)
	to.exec(t, "CREATE EVENT TRIGGER stalls ON ddl_command_end EXECUTE FUNCTION stall()")

	copying := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCopyThatIsKilled$")
	copying.Env = append(os.Environ(), "COPY_FROM="+fromURL, "COPY_TO="+toURL)
	if err := copying.Start(); err != nil {
		t.Fatal(err)
	}
	const asleep = " FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
	for stalled := 0; stalled == 0; time.Sleep(20 * time.Millisecond) {
		if err := target.QueryRowContext(t.Context(), "SELECT count(*)"+asleep).Scan(&stalled); err != nil {
			t.Fatal(err)
		}
	}
	if err := copying.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = copying.Wait() // it was killed
	to.exec(t, "SELECT pg_terminate_backend(pid)"+asleep)
	to.exec(t, "DROP EVENT TRIGGER stalls")

	wantRefused(t, from.Copy(t.Context(), to.Store, watch, quiet),
		"the target: its schema is not complete, as after a migration that was ended")
	to.exec(t, "UPDATE goose_lock SET lease_expires_at = now()") // it would end by itself in half a minute
	if err := to.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := from.Copy(t.Context(), to.Store, watch, quiet); err != nil {
		t.Error(err)
	}
}

// TestCopyThatIsKilled is the process that TestCopyAfterAKill kills.
func TestCopyThatIsKilled(t *testing.T) {
	if os.Getenv("COPY_TO") == "" {
		t.Skip("run by TestCopyAfterAKill")
	}
	t.Error(open(t, os.Getenv("COPY_FROM")).Copy(t.Context(), open(t, os.Getenv("COPY_TO")), watch, quiet))
}
