package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"agegate/internal/rules/routine"
)

// CopyWatch is how long Copy watches a PostgreSQL database if a gateway there has not reported that it ended.
// It is three times as long as the interval of a gateway's reports.
const CopyWatch = 90 * time.Second

// Copy copies all rows of all tables into to, a PostgreSQL database without tables or with the empty tables of
// this schema, except its last backup and the gateways on it. It locks both databases, compares the rows of
// each table on both sides, and commits if all are equal; otherwise it writes nothing. It fails if a gateway
// runs on one of them. It calls progress with each table and its number of rows.
func (s *Store) Copy(ctx context.Context, to *Store, watch time.Duration, progress func(string, int64)) (err error) {
	defer func() {
		if err = withoutValues(err); hasState(err, "55P03") {
			err = errors.New("something uses one of the databases: stop every gateway and command")
		}
	}()
	if s.postgres != nil && to.postgres != nil {
		const place = "SELECT concat_ws('/', pg_postmaster_start_time(), current_database(), current_schema())"
		var here, there string
		err := errors.Join(s.writer.Raw(place).Scan(&here).Error, to.writer.Raw(place).Scan(&there).Error)
		if err != nil {
			return err
		}
		if here == there {
			return errors.New("both URLs lead to the same database")
		}
	}
	from, err := s.hold(ctx, watch, false)
	if err != nil {
		return fmt.Errorf("the source: %w", err)
	}
	defer from.close()
	into, err := to.hold(ctx, watch, true)
	if err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	defer into.close()
	for _, table := range slices.Concat(into.tables, from.tables) {
		switch here, there := from.columns[table], into.columns[table]; {
		case here == nil:
			return fmt.Errorf("only the target has a table %s: use a database for agegate alone", table)
		case there == nil:
			return fmt.Errorf("only the source has a table %s: move it away if it is not agegate's", table)
		case !slices.Equal(here, there):
			return fmt.Errorf("table %s has other columns in the source than in the target", table)
		}
	}
	for _, table := range into.tables {
		if table == "backups" || table == "replicas" {
			continue
		}
		rows, err := into.take(ctx, from, table)
		if err != nil {
			return fmt.Errorf("table %s: %w", table, withoutValues(err))
		}
		progress(table, rows)
	}
	_, err = into.ExecContext(ctx, finishCopy)
	return err
}

// heldDatabase is a database that a transaction locks against other writers.
type heldDatabase struct {
	*sql.Conn
	tables  []string            // each after those to which it refers
	columns map[string][]string // of each table, in order of their names
}

// The statements by which Copy reads what it has to copy. The first two list columns.
const (
	sqliteColumns = `SELECT m.name, i.name FROM sqlite_master m JOIN pragma_table_info(m.name) i WHERE m.type = 'table'
		AND m.name NOT LIKE 'sqlite|_%' ESCAPE '|' AND m.name NOT LIKE 'goose|_%' ESCAPE '|' ORDER BY 1, 2`
	postgresColumns = `
		WITH RECURSIVE found AS (
			SELECT c.oid, relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace AND nspname = current_schema()
			WHERE relkind IN ('r', 'p') AND NOT relispartition AND relname NOT LIKE 'goose\_%'
		), depth (oid, n) AS (
			SELECT oid, 0 FROM found UNION
			SELECT conrelid, n + 1 FROM depth JOIN pg_constraint ON confrelid = depth.oid AND conrelid <> confrelid
			WHERE n < 50
		)
		SELECT relname, attname FROM found JOIN (SELECT oid, max(n) AS n FROM depth GROUP BY oid) AS deepest USING (oid)
		JOIN pg_attribute ON attrelid = oid AND attnum > 0 AND NOT attisdropped ORDER BY n, relname, attname`
	// The gateways that have not reported that they ended, and when each last reported.
	reportedGateways = "SELECT coalesce(string_agg(concat(id, seen_at), ' ' ORDER BY id), '') FROM replicas"
	finishCopy       = `DO $$ DECLARE c record; BEGIN
		FOR c IN SELECT relname AS t, attname AS a, pg_get_serial_sequence(quote_ident(relname), attname) AS s
			FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
			WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relkind IN ('r', 'p') LOOP
			IF c.s IS NOT NULL THEN
				EXECUTE format('SELECT setval(%L, max(%I)) FROM %I HAVING max(%I) IS NOT NULL', c.s, c.a, c.t, c.a);
			END IF;
		END LOOP; END $$; ANALYZE; COMMIT`
)

// hold checks one side, migrates an empty target, and locks its tables.
func (s *Store) hold(ctx context.Context, watch time.Duration, target bool) (_ *heldDatabase, err error) {
	x, err := s.Examine(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.copies(x, target); err != nil {
		return nil, err
	}
	if err := s.LockServe(); err != nil {
		return nil, err
	}
	pool, err := s.writer.DB()
	if err != nil {
		return nil, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, translate(err)
	}
	h := &heldDatabase{Conn: conn}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if s.sqlite != nil {
		if _, err := h.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return nil, translate(err)
		}
		return h, h.list(ctx, sqliteColumns)
	}
	if err := h.list(ctx, postgresColumns); err != nil {
		return nil, err
	}
	if len(x.Pending) > 0 {
		if len(h.tables) > 0 {
			return nil, fmt.Errorf("it is not empty, but has a table %s", h.tables[0])
		}
		if err := errors.Join(s.Migrate(ctx), h.list(ctx, postgresColumns)); err != nil {
			return nil, err
		}
	}
	if err := h.lock(ctx, watch); err != nil || !target {
		return h, err
	}
	return h, h.empty(ctx)
}

// copies returns why a database cannot be the source or the target of a copy, or nil.
func (s *Store) copies(x Examination, target bool) error {
	empty := len(x.Pending) > 0 && x.Pending[0] == 1
	switch {
	case target && s.postgres == nil:
		return errors.New("only a PostgreSQL database can be the target")
	case len(x.Unknown) > 0:
		return errors.New("its schema is newer than this program: use the newer program")
	case len(x.Pending) > 0 && !empty && target:
		return errors.New("its schema is not complete, as after a migration that was ended, or older than this program: " +
			"run agegate migrate on it first")
	case len(x.Pending) > 0 && !empty:
		return errors.New("its schema is older than this program: run agegate migrate on it first")
	case empty && !target:
		return errors.New("it has no tables of agegate: correct the URL")
	}
	return nil
}

// lock locks the tables of PostgreSQL, and watches whether a gateway runs: a running one reports again during
// the watch. A gateway that starts later cannot report because of the lock, and stops.
func (h *heldDatabase) lock(ctx context.Context, watch time.Duration) error {
	before, err := h.gateways(ctx)
	now, end := before, time.Now().Add(watch)
	for err == nil && before != "" && now == before && time.Now().Before(end) &&
		routine.Wait(ctx, min(watch/50, time.Second)) == nil {
		now, err = h.gateways(ctx)
	}
	if err != nil {
		return err
	}
	begin := []string{"BEGIN", "SET LOCAL statement_timeout = 0", "SET LOCAL idle_in_transaction_session_timeout = 0"}
	for _, t := range h.tables {
		begin = append(begin, "LOCK TABLE "+pgx.Identifier{t}.Sanitize()+" IN EXCLUSIVE MODE")
	}
	if _, err := h.ExecContext(ctx, strings.Join(begin, "; ")); err != nil {
		return err
	}
	if now, err = h.gateways(ctx); err == nil && now != before {
		err = errors.New("a gateway runs on it: stop every gateway first")
	}
	return err
}

// gateways reads reportedGateways.
func (h *heldDatabase) gateways(ctx context.Context) (reported string, err error) {
	err = h.QueryRowContext(ctx, reportedGateways).Scan(&reported)
	return reported, err
}

// empty returns an error if a table has a row.
func (h *heldDatabase) empty(ctx context.Context) error {
	for _, t := range h.tables {
		var filled bool
		err := h.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM "+pgx.Identifier{t}.Sanitize()+")").Scan(&filled)
		if err != nil {
			return err
		}
		if filled {
			return fmt.Errorf("it is not empty: table %s has rows", t)
		}
	}
	return nil
}

// close ends the transaction, unless it was committed.
func (h *heldDatabase) close() {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	_, _ = h.ExecContext(ctx, "ROLLBACK")
	_ = h.Close()
}

// list reads the tables and columns by one of the statements above.
func (h *heldDatabase) list(ctx context.Context, statement string) error {
	h.tables, h.columns = nil, map[string][]string{}
	rows, err := h.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	return each(rows, func() error {
		var table, column string
		err := rows.Scan(&table, &column)
		if h.columns[table] == nil {
			h.tables = append(h.tables, table)
		}
		h.columns[table] = append(h.columns[table], column)
		return err
	})
}

// take copies a table, compares both sides, and returns the number of rows.
func (h *heldDatabase) take(ctx context.Context, from *heldDatabase, table string) (int64, error) {
	sent, err := from.rows(ctx, table)
	if err != nil {
		return 0, err
	}
	defer sent.Close() //nolint:errcheck // Err says what went wrong
	if err := h.Raw(func(driver any) error {
		conn := driver.(*stdlib.Conn).Conn() //nolint:forcetypeassert // the driver of every PostgreSQL pool
		_, err := conn.CopyFrom(ctx, pgx.Identifier{table}, h.columns[table], sent)
		return cmp.Or(sent.unread, err) // of a value that cannot be read, the server says only that the copy ended
	}); err != nil {
		return 0, err
	}
	arrived, err := h.rows(ctx, table)
	if err != nil {
		return 0, err
	}
	err = each(arrived.Rows, func() error { _, err := arrived.Values(); return err })
	if err == nil && (sent.count != arrived.count || sent.sum != arrived.sum) {
		err = fmt.Errorf("%d rows were read and %d are in the target, or their values differ", sent.count, arrived.count)
	}
	return sent.count, err
}

// copyRows are the rows of a table as a pgx.CopyFromSource. It counts the rows and adds
// up their hashes. The sum does not depend on the order of the rows.
type copyRows struct {
	*sql.Rows
	types []*sql.ColumnType
	count int64
	sum   [4]uint64
	// unread says which value could not be read, or is nil.
	unread error
}

func (h *heldDatabase) rows(ctx context.Context, table string) (*copyRows, error) {
	names := make([]string, len(h.columns[table]))
	for i, column := range h.columns[table] {
		names[i] = pgx.Identifier{column}.Sanitize()
	}
	//nolint:rowserrcheck // CopyFrom and each check Err
	rows, err := h.QueryContext(ctx, "SELECT "+strings.Join(names, ", ")+" FROM "+pgx.Identifier{table}.Sanitize())
	if err != nil {
		return nil, err
	}
	types, err := rows.ColumnTypes()
	return &copyRows{Rows: rows, types: types}, err
}

// scalars are what columns of SQLite should hold by their types: it keeps any value in any.
var scalars = map[string]string{"TIMESTAMP": "date", "INTEGER": "number", "REAL": "number", "BOOLEAN": "yes or no"}

// Values implements pgx.CopyFromSource, with values that both dialects have.
func (r *copyRows) Values() ([]any, error) {
	values, places := make([]any, len(r.types)), make([]any, len(r.types))
	for i := range values {
		places[i] = &values[i]
	}
	if err := r.Scan(places...); err != nil {
		return nil, err
	}
	for i, value := range values {
		kind, wrong := r.types[i].DatabaseTypeName(), ""
		switch v := value.(type) {
		case string:
			wrong = scalars[kind]
		case time.Time:
			values[i] = at(v)
		case int64:
			if kind == "BOOLEAN" { // SQLite's are numbers
				values[i] = v != 0
			}
		case float64:
			if kind != "REAL" {
				wrong = scalars[kind]
			}
		case []byte:
			values[i], wrong = append([]byte{}, v...), scalars[kind] // nil would be null
		}
		if wrong != "" {
			r.unread = fmt.Errorf("column %s has a %s that cannot be read: correct it in the source", r.types[i].Name(), wrong)
			return nil, r.unread
		}
	}
	text, err := json.Marshal(values)
	hash := sha256.Sum256(text)
	for i := range r.sum {
		r.sum[i] += binary.BigEndian.Uint64(hash[8*i:])
	}
	r.count++
	return values, err
}
