// Package databases tests the store on servers that need more than PostgreSQL:
// PgBouncer and replicas.
package databases

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"agegate/internal/backoffice/insight"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"
)

// open opens a store with a deadline that is long enough for a slow machine.
func open(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestStoreBehindAPooler runs the store's tests through PgBouncer, which by
// default refuses settings at the start of a connection.
func TestStoreBehindAPooler(t *testing.T) {
	suite := exec.CommandContext(t.Context(), "go", "test", "-C", "../../internal/store/storetest", "-vet=off",
		"-count=1", ".")
	suite.Env = append(os.Environ(), "AGEGATE_TEST_STORE=pooler")
	out, err := suite.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "ok ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestReplicasMigrateBehindAPooler(t *testing.T) {
	for name, settings := range map[string]string{
		"that refuses settings": "",
		"that ignores settings": "ignore_startup_parameters = " +
			"statement_timeout,lock_timeout,idle_in_transaction_session_timeout,timezone",
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.NewPooler(t, settings).EmptyURL(t)
			var starting sync.WaitGroup
			for range 3 {
				starting.Go(func() {
					s, err := store.Open(t.Context(), store.Config{URL: url})
					if err != nil {
						t.Error(err)
						return
					}
					defer s.Close()
					if err := s.Migrate(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			starting.Wait()
		})
	}
}

// TestSettingsOfTheURLBehindAPooler: settings that the pooler passes on take
// effect, and no other setting is silently dropped.
func TestSettingsOfTheURLBehindAPooler(t *testing.T) {
	direct := pgtest.URL(t)
	url := pgtest.NewPooler(t).Through(direct)
	for _, setting := range []string{"search_path=elsewhere", "options=-c%20work_mem%3D8MB", "statement_timeout=100",
		"role=elsewhere"} {
		s, err := store.Open(t.Context(), store.Config{URL: url + "&timezone=UTC&" + setting})
		if err == nil {
			_ = s.Close()
		}
		name, value, _ := strings.Cut(setting, "=")
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "ALTER ROLE") ||
			strings.Contains(err.Error(), value) {
			t.Errorf("%s: error %v", setting, err)
		}
	}
	run(t, direct, `CREATE FUNCTION settled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF current_setting('application_name') <> 'shop' OR current_setting('TimeZone') <> 'Asia/Tokyo' THEN
				RAISE 'application_name is %, TimeZone %', current_setting('application_name'), current_setting('TimeZone');
			END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER settled BEFORE INSERT ON replicas FOR EACH ROW EXECUTE FUNCTION settled()`)
	now := time.Now().UTC()
	s := open(t, url+"&application_name=shop&timezone=Asia/Tokyo")
	if err := s.PutReplica(t.Context(), insight.Replica{ID: uuid.New(), StartedAt: now, SeenAt: now},
		now.Add(-time.Hour)); err != nil {
		t.Error(err)
	}
}

// run runs statements on a database directly, without the store.
func run(t *testing.T, url, statements string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

// TestMigrationBehindAPoolerWithLimits: the role has a time limit, as the manual
// recommends, and building an index takes longer.
func TestMigrationBehindAPoolerWithLimits(t *testing.T) {
	direct := pgtest.EmptyURL(t)
	pooled := pgtest.NewPooler(t).Through(direct)
	run(t, direct, `DO $do$ BEGIN
			EXECUTE 'ALTER ROLE postgres IN DATABASE ' || current_database() || ' SET statement_timeout = 1000';
			CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS
				$$ BEGIN IF current_query() LIKE '%sessions_status%' THEN PERFORM pg_sleep(1.1); END IF; END $$;
			CREATE EVENT TRIGGER slow ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION slow();
		END $do$`)
	for _, tt := range []struct{ name, migration, want string }{
		{"no other URL", "", "set AGEGATE_MIGRATION_URL"},
		{"the pooler again", pooled, "set AGEGATE_MIGRATION_URL"},
		{"not a URL", "postgres://u:hunter2@[db/x", "AGEGATE_MIGRATION_URL: database URL is not a valid"},
		{"another database", pgtest.EmptyURL(t), "leads to another database"},
		{"the server itself", direct, ""},
		{"migrated", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := store.Open(t.Context(), store.Config{URL: pooled, MigrationURL: tt.migration})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			err = s.Migrate(t.Context())
			if tt.want == "" && err != nil || tt.want != "" &&
				(err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
