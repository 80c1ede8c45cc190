package store_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/pgtest"

	"github.com/google/uuid"
)

// watch is long enough for the reports of a test's gateway.
const watch = 500 * time.Millisecond

// copied is a database with its raw connection, to copy from or into.
type copied struct {
	*store.Store
	raw  *sql.DB
	mark string
}

func copyFrom(t *testing.T, url string) copied {
	t.Helper()
	s := open(t, url)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	driver, mark, name := "pgx", "$", url
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		driver, mark, name = "sqlite", "?", path
	}
	raw, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	raw.SetMaxOpenConns(1)
	c := copied{s, raw, mark}
	if driver == "pgx" {
		c.exec(t, "SET session_replication_role = replica") // rows in any order
	}
	return c
}

func (c copied) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := c.raw.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// empty fails the test if a table has a row.
func (c copied) empty(t *testing.T) {
	t.Helper()
	for table, columns := range catalogueOf(t, c.raw) {
		if rows := content(t, c.raw, table, columns); len(rows) > 0 {
			t.Errorf("%s has %d rows", table, len(rows))
		}
	}
}

func quiet(string, int64) {}

// shop is a merchant of a database.
type shop struct {
	tenants  *tenant.Service
	sessions *session.Service
}

func shopOn(t *testing.T, s *store.Store) shop {
	t.Helper()
	sealer, err := credential.NewSealer(bytes.Repeat([]byte("k"), credential.SecretLen), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
	tenants := tenant.NewService(s, sealer, tenant.CallbackRule{}, rand.Reader, now)
	return shop{tenants, session.NewService(session.Config{
		VerifyURL: "https://v.example", TTL: time.Hour, TokenTTL: time.Minute,
		Limits: billing.Limits{FreeChecksPerMonth: 10, TestDailyCap: 10},
	}, s, tenants, sealer, rand.Reader, now, func() {})}
}

func (s shop) create(t *testing.T, key, idempotency string) session.Created {
	t.Helper()
	caller, err := s.tenants.Authenticate(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	request := session.CreateRequest{TargetAge: 18, IdempotencyKey: idempotency}
	created, err := s.sessions.Create(t.Context(), caller, request)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// TestCopy: all rows of every table of the schema arrive with the same values, except the
// mark of the last backup and the list of gateways, and the gateway's services go on with
// the copy.
func TestCopy(t *testing.T) {
	for dialect, url := range map[string]func(*testing.T) string{
		"sqlite": sqliteURL, "postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(dialect, func(t *testing.T) {
			from, toURL := copyFrom(t, url(t)), pgtest.EmptyURL(t)
			before := shopOn(t, from.Store)
			made, err := before.tenants.Create(t.Context(), audit.System("test"), tenant.Tenant{
				Name: "Shop", SuccessURL: "https://s.example/", CancelURL: "https://s.example/",
				WebhookURL: "https://s.example/hook",
			})
			if err != nil {
				t.Fatal(err)
			}
			old := before.create(t, made.Live.APIKey, "key")
			schema := copyFrom(t, pgtest.URL(t))
			tables := filled(t, from.raw, schema.raw, from.mark)
			told := map[string]int64{}
			to := open(t, toURL)
			if err := from.Copy(t.Context(), to, watch, func(table string, rows int64) {
				told[table] = rows
			}); err != nil {
				t.Fatal(err)
			}
			target := copyFrom(t, toURL)
			for table, columns := range tables {
				left, arrived := content(t, from.raw, table, columns), content(t, target.raw, table, columns)
				if table == "backups" || table == "replicas" {
					if _, copied := told[table]; len(left) == 0 || len(arrived) > 0 || copied {
						t.Errorf("%s: of %v, which is true of the source alone, arrived %v", table, left, arrived)
					}
					continue
				}
				if len(left) == 0 || !slices.Equal(left, arrived) || told[table] != int64(len(left)) {
					t.Errorf("%s: left %v, arrived %v, told of %d", table, left, arrived, told[table])
				}
			}
			if len(told) != len(tables)-2 {
				t.Errorf("told of %d tables, there are %d", len(told), len(tables))
			}
			after := shopOn(t, to)
			if again := after.create(t, made.Live.APIKey, "key"); again.VerificationURL != old.VerificationURL {
				t.Error("a repeated creation is not answered with the link of the source")
			}
			if fresh := after.create(t, made.Live.APIKey, ""); fresh.VerificationURL == old.VerificationURL {
				t.Error("no new session was created")
			}
			link := old.VerificationURL[strings.LastIndex(old.VerificationURL, "/")+1:]
			if _, err := after.sessions.ByLink(t.Context(), link); err != nil {
				t.Errorf("the session of the source: %v", err)
			}
			wantRefused(t, from.Copy(t.Context(), to, watch, quiet), "the target: it is not empty: table")
		})
	}
}

func wantRefused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestCopyOfOtherTables: a table that a later migration adds is copied, its sequence is
// set, and a table or column that is only on one side is refused.
func TestCopyOfOtherTables(t *testing.T) {
	from, to := copyFrom(t, pgtest.URL(t)), copyFrom(t, pgtest.URL(t))
	from.exec(t, `CREATE TABLE "A later" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "a text" text)`)
	wantRefused(t, from.Copy(t.Context(), to.Store, watch, quiet), `only the source has a table A later`)
	to.exec(t, `CREATE TABLE "A later" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "a text" text)`)
	to.exec(t, "CREATE TABLE crm (id bigint)")
	wantRefused(t, from.Copy(t.Context(), to.Store, watch, quiet), "only the target has a table crm")
	to.exec(t, "DROP TABLE crm")
	to.exec(t, "ALTER TABLE users ADD COLUMN shoe_size bigint")
	wantRefused(t, from.Copy(t.Context(), to.Store, watch, quiet), "table users has other columns")
	to.exec(t, "ALTER TABLE users DROP COLUMN shoe_size")
	from.exec(t, `INSERT INTO "A later" ("a text") VALUES ('one'), ('two')`)
	if err := from.Copy(t.Context(), to.Store, watch, quiet); err != nil {
		t.Fatal(err)
	}
	var id int64
	err := to.raw.QueryRowContext(t.Context(), `INSERT INTO "A later" ("a text") VALUES ('three') RETURNING id`).Scan(&id)
	if err != nil || id != 3 {
		t.Errorf("the next row has number %d: %v", id, err)
	}
}

// TestCopyRefuses names what is wrong with either side, and changes nothing.
func TestCopyRefuses(t *testing.T) {
	file, server := copyFrom(t, sqliteURL(t)), copyFrom(t, pgtest.URL(t))
	empty, fileURL := open(t, pgtest.EmptyURL(t)), sqliteURL(t)
	ctx := t.Context()
	wantRefused(t, server.Copy(ctx, server.Store, watch, quiet), "both URLs lead to the same database")
	wantRefused(t, file.Copy(ctx, open(t, fileURL), watch, quiet),
		"the target: only a PostgreSQL database can be the target")
	wantRefused(t, empty.Copy(ctx, server.Store, watch, quiet), "the source: it has no tables of agegate")
	for _, side := range []copied{file, server} {
		name, run := "the source: ", func() error { return side.Copy(ctx, empty, watch, quiet) }
		if side.mark == "$" {
			name, run = "the target: ", func() error { return file.Copy(ctx, side.Store, watch, quiet) }
		}
		side.exec(t, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)")
		wantRefused(t, run(), name+"its schema is newer")
		side.exec(t, "DELETE FROM goose_db_version WHERE version_id = 99999")
		side.exec(t, "UPDATE goose_db_version SET version_id = -version_id WHERE version_id > 1")
		older := map[string]string{"the source: ": "its schema is older", "the target: ": "its schema is not complete"}
		wantRefused(t, run(), name+older[name])
		side.exec(t, "UPDATE goose_db_version SET version_id = -version_id WHERE version_id < 0")
	}
	foreign := copyFrom(t, pgtest.EmptyURL(t))
	foreign.exec(t, "DROP SCHEMA public CASCADE")
	foreign.exec(t, "CREATE SCHEMA public")
	foreign.exec(t, "CREATE TABLE shop (id bigint)")
	wantRefused(t, file.Copy(ctx, foreign.Store, watch, quiet), "the target: it is not empty, but has a table shop")
	if err := file.Copy(ctx, server.Store, watch, quiet); err != nil {
		t.Errorf("after all refusals: %v", err)
	}
}

// TestCopyWhileAGatewayRuns refuses on either side, at once or when the gateway reports
// again, and holds up a gateway that starts meanwhile.
func TestCopyWhileAGatewayRuns(t *testing.T) {
	ctx := t.Context()
	file, server, to := copyFrom(t, sqliteURL(t)), copyFrom(t, pgtest.URL(t)), copyFrom(t, pgtest.URL(t))
	gateway := insight.Replica{ID: uuid.New(), StartedAt: time.Now(), Version: "1"}
	report := func(s *store.Store) error {
		gateway.SeenAt = time.Now()
		return s.PutReplica(ctx, gateway, gateway.SeenAt.Add(-time.Hour))
	}
	for name, pair := range map[string][2]copied{"the source: ": {server, to}, "the target: ": {file, to}} {
		runs := pair[0]
		if name == "the target: " {
			runs = pair[1]
		}
		if err := report(runs.Store); err != nil {
			t.Fatal(err)
		}
		reporting, stop := context.WithCancel(ctx)
		var reports sync.WaitGroup
		reports.Go(func() {
			for reporting.Err() == nil {
				_ = report(runs.Store) // it waits while the tables are locked
				time.Sleep(watch / 10)
			}
		})
		// It ends with the next report, however late a busy machine writes this.
		wantRefused(t, pair[0].Copy(ctx, pair[1].Store, 10*watch, quiet), name+"a gateway runs on it")
		stop()
		reports.Wait()
		if err := runs.DeleteReplica(ctx, gateway.ID); err != nil {
			t.Fatal(err)
		}
	}
	served := copyFrom(t, sqliteURL(t))
	second := open(t, served.path(t))
	if err := second.LockServe(); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, served.Copy(ctx, to.Store, watch, quiet), "the source: another server is already running")
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	to.empty(t)
	filled(t, server.raw, to.raw, server.mark)
	held := false
	err := server.Copy(ctx, to.Store, watch, func(string, int64) {
		if held {
			return
		}
		held = true
		for _, side := range []copied{server, to} {
			starts, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			if err := side.PutReplica(starts, gateway, time.Time{}); err == nil {
				t.Error("a gateway reported during a copy")
			}
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// path returns the URL of a SQLite database.
func (c copied) path(t *testing.T) (url string) {
	t.Helper()
	row := c.raw.QueryRowContext(t.Context(), "SELECT 'sqlite:' || file FROM pragma_database_list")
	if err := row.Scan(&url); err != nil {
		t.Fatal(err)
	}
	return url
}

// TestCopyNamesAWrongValue by its table and column, without its text: SQLite keeps any
// value in any column.
func TestCopyNamesAWrongValue(t *testing.T) {
	to := copyFrom(t, pgtest.URL(t))
	for _, tt := range []struct{ table, column, value, want string }{
		{"tenants", "created_at", "'2026-13-45 canary'", "a date"},
		{"tenants", "free_checks", "'canary'", "a number"},
		{"tenants", "free_checks", "1.5", "a number"},
		{"tenants", "free_checks", "x'63616e617279'", "a number"},
		{"tenants", "disabled", "'canary'", "a yes or no"},
		{"sessions", "cutoff", "'canary'", "a number"},
	} {
		from := copyFrom(t, sqliteURL(t))
		filled(t, from.raw, to.raw, from.mark)
		from.exec(t, "UPDATE "+tt.table+" SET "+tt.column+" = "+tt.value)
		err := from.Copy(t.Context(), to.Store, watch, quiet)
		wantRefused(t, err, "table "+tt.table+": column "+tt.column+" has "+tt.want+" that cannot be read")
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Error(err)
		}
		to.empty(t)
	}
}

// TestCopyThatFails leaves no row in the target, whatever fails on the way.
func TestCopyThatFails(t *testing.T) {
	from, to := copyFrom(t, sqliteURL(t)), copyFrom(t, pgtest.URL(t))
	tables := filled(t, from.raw, to.raw, from.mark)
	ctx, cancel := context.WithCancel(t.Context())
	done := 0
	err := from.Copy(ctx, to.Store, watch, func(string, int64) {
		if done++; done == len(tables)/2 {
			cancel()
		}
	})
	wantRefused(t, err, "context canceled")
	to.empty(t)

	to.exec(t, `CREATE FUNCTION alter_name() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN NEW.name := 'x'; RETURN NEW; END $$`)
	to.exec(t, `CREATE TRIGGER alters BEFORE INSERT ON brands FOR EACH ROW EXECUTE FUNCTION alter_name()`)
	wantRefused(t, from.Copy(t.Context(), to.Store, watch, quiet),
		`table brands: 3 rows were read and 3 are in the target, or`)
	to.empty(t)
	to.exec(t, `DROP TRIGGER alters ON brands`)

	from.exec(t, "UPDATE wallet_requests SET outcome = 'a' || char(0) || 'secret'")
	err = from.Copy(t.Context(), to.Store, watch, quiet)
	wantRefused(t, err, `table wallet_requests: postgres: SQLSTATE 22021`)
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows a value: %v", err)
	}
	to.empty(t)
	from.exec(t, "UPDATE wallet_requests SET outcome = ''")
	from.exec(t, "DELETE FROM sessions")
	wantRefused(t, from.Copy(t.Context(), to.Store, watch, quiet), "postgres: SQLSTATE 23503")
	to.empty(t)
}
