package crowd

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"text/template"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// dialect is a database's variant of SQL, and how to load data into it.
type dialect struct {
	uuid  string // the type of a UUID
	funcs template.FuncMap
	load  func(ctx context.Context, databaseURL string, inserts []string) error
}

func dialectOf(databaseURL string) dialect {
	if strings.HasPrefix(databaseURL, "sqlite:") {
		return sqlite
	}
	return postgres
}

var postgres = dialect{
	uuid: "uuid",
	funcs: template.FuncMap{
		"series": func(n int) string { return fmt.Sprintf("generate_series(CAST(0 AS bigint), %d - 1) AS s (i)", n) },
		"id": func(ms, i string) string {
			return strings.NewReplacer("{ms}", ms, "{i}", i).Replace(`CAST(overlay(lpad(to_hex({ms}), 12, '0') placing '-' from 9 for 0)
				|| '-7' || lpad(to_hex({i} & 4095), 3, '0') || '-8' || lpad(to_hex(({i} >> 12) & 4095), 3, '0') || '-' || lpad(to_hex({i}), 12, '0') AS uuid)`)
		},
		"other": func(id, variant string) string {
			return fmt.Sprintf("CAST(overlay(CAST(%s AS text) placing %s from 20 for 1) AS uuid)", id, variant)
		},
		"hash":     postgresHash,
		"link":     func(_, i string) string { return postgresHash(i) }, // not ordered yet, see store.OrdersLinks
		"bytes":    func(text string) string { return "convert_to(" + text + ", 'UTF8')" },
		"time":     func(ms string) string { return "to_timestamp(0.001 * (" + ms + "))" },
		"tomorrow": func(at string) string { return at + " + interval '1 day'" },
		"month":    func(at string) string { return "to_char(" + at + ", 'YYYY-MM')" },
	},
	load: loadPostgres,
}

func postgresHash(value string) string {
	return "sha256(CAST(CAST(" + value + " AS text) AS bytea))"
}

// loadPostgres runs the statements on one connection, so that its settings stay
// in force.
func loadPostgres(ctx context.Context, databaseURL string, inserts []string) (err error) {
	db, err := sql.Open("pgx", databaseURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	statements := append([]string{
		"SET statement_timeout = 0", "SET timezone = 'UTC'", "SET maintenance_work_mem = '512MB'",
		"SET session_replication_role = replica", // switches off foreign keys
		"UPDATE pg_index SET indisready = false, indisvalid = false WHERE indrelid IN ('" +
			strings.Join(Tables, "'::regclass, '") + "'::regclass)",
	}, inserts...)
	for _, table := range Tables { // enables the table's indexes again
		statements = append(statements, "REINDEX TABLE "+table)
	}
	for _, statement := range append(statements, "VACUUM ANALYZE") { // VACUUM would otherwise run at some later time
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return nil
}

var sqlite = dialect{
	uuid: "text",
	funcs: template.FuncMap{
		"series": func(n int) string {
			return fmt.Sprintf("(WITH RECURSIVE c (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < %d - 1) SELECT i "+
				"FROM c)", n)
		},
		"id": func(ms, i string) string {
			return strings.NewReplacer("{ms}", ms, "{i}",
				i).Replace("printf('%08x-%04x-7%03x-8%03x-%012x', {ms} >> 16, {ms} & 65535, {i} & 4095, ({i} >> 12) & 4095, {i})")
		},
		"other": func(id, variant string) string {
			return fmt.Sprintf("substr(%s, 1, 19) || %s || substr(%s, 21)", id, variant, id)
		},
		"hash":     func(string) string { return "randomblob(32)" },
		"link":     sqliteLink,
		"bytes":    func(text string) string { return "CAST(" + text + " AS blob)" },
		"time":     sqliteTime,
		"tomorrow": func(at string) string { return "strftime('%Y-%m-%d %H:%M:%f+00:00', " + at + ", '+1 day')" },
		"month":    func(at string) string { return "substr(" + at + ", 1, 7)" },
	},
	load: loadSQLite,
}

// loadSQLite runs the statements with the tool sqlite3, which is several times as
// fast as the driver without C code.
func loadSQLite(ctx context.Context, databaseURL string, inserts []string) error {
	path := strings.TrimPrefix(databaseURL, "sqlite:")
	const indexes = "FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('"
	of := strings.Join(Tables, "', '") + "')"
	drop, err := sqlite3(ctx, path, "SELECT 'DROP INDEX ' || name || ';' "+indexes+of)
	if err != nil {
		return err
	}
	build, err := sqlite3(ctx, path, "SELECT sql || ';' "+indexes+of)
	if err != nil {
		return err
	}
	const fast = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000;"
	_, err = sqlite3(ctx, path, fast, drop, strings.Join(inserts, ";\n"), ";", build,
		"ANALYZE; PRAGMA journal_mode = WAL;")
	return err
}

func sqlite3(ctx context.Context, path string, script ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "sqlite3", "-bail", path) //nolint:gosec // the file of a test
	cmd.Stdin = strings.NewReader(strings.Join(script, "\n"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("sqlite3: %w: %.500s", err, &stderr)
	}
	return string(out), err
}

func sqliteTime(ms string) string {
	return "strftime('%Y-%m-%d %H:%M:%f+00:00', 0.001 * (" + ms + "), 'unixepoch')"
}

// sqliteLink returns the hash of an ordered link. It begins with the digits of the
// time, which sort like its bytes and before those of new links.
func sqliteLink(ms, _ string) string {
	return "CAST(printf('%08x', (" + ms + ") / 1000) || randomblob(24) AS blob)"
}
