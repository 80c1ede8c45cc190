package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/rules/routine"
	"agegate/internal/rules/trail"
)

// attempts is how often an Update or View is tried before its error is returned.
const attempts = 5

// Tx is a running transaction of Update, or a reader of View, bound to the context of that call. It must not be
// used after the function it was given to has returned. Its methods return the faults of internal/rules/fault
// for expected failures.
type Tx struct {
	db       *gorm.DB
	postgres bool
	now      func() time.Time // SQLite's clock; see dbNowPlus
}

func (s *Store) tx(db *gorm.DB) *Tx {
	return &Tx{db: db, postgres: s.postgres != nil, now: s.now}
}

// Update runs fn in one transaction and commits it when fn returns nil.
//
// The transaction is run again if it certainly had no effect: after a deadlock, a serialization failure, or a
// connection lost before COMMIT. Therefore fn must not change anything outside tx that a second run does not
// reset. If COMMIT fails in another way, it is unknown whether it took effect, and Update returns
// fault.Unavailable: read the state again before answering.
//
// Inside fn, use tx only: calling the Store again waits for a second connection, which on SQLite never comes.
func (s *Store) Update(ctx context.Context, fn func(tx *Tx) error) error {
	err := s.retry(ctx, func(ctx context.Context) (bool, error) {
		db := s.writer.WithContext(ctx).Begin()
		if db.Error != nil {
			return transient(db.Error), db.Error
		}
		committed := false
		defer func() {
			if !committed { // also if fn panics
				db.Rollback()
			}
		}()
		if err := fn(s.tx(db)); err != nil {
			return transient(err), err
		}
		committed = true
		err := db.Commit().Error
		return rolledBack(err), err
	})
	if refusesWrites(err) {
		s.refused.Store(true)
	}
	return err
}

// View runs fn outside any transaction, on SQLite with the read-only pool. fn
// must only read; it is run again after a lost connection. The SQLite driver
// does not interrupt a running SELECT, so every query must be fast by design.
func (s *Store) View(ctx context.Context, fn func(tx *Tx) error) error {
	return s.retry(ctx, func(ctx context.Context) (bool, error) {
		err := fn(s.tx(s.reader.WithContext(ctx)))
		return transient(err), err
	})
}

// retry calls try until it succeeds, returns an error that it does not want
// retried, or attempts or time run out.
func (s *Store) retry(parent context.Context, try func(ctx context.Context) (again bool, err error)) (err error) {
	parent, end := trail.Span(parent, "database", trace.WithSpanKind(trace.SpanKindClient))
	defer func() { end(err) }()
	if span := trace.SpanFromContext(parent); span.IsRecording() {
		name := operation()
		span.SetName("database " + name)
		span.SetAttributes(attribute.String("db.operation.name", name),
			attribute.String("db.system.name", strings.Replace(s.writer.Name(), "postgres", "postgresql", 1)))
	}
	ctx, cancel := context.WithTimeout(parent, s.timeout)
	defer cancel()
	for n := 1; ; n++ {
		again, err := try(ctx)
		if err == nil {
			return nil
		}
		if errors.Is(parent.Err(), context.Canceled) {
			return context.Canceled // the caller cancelled; the database is not at fault
		}
		// The waits double from 10 ms. Each is spread over half to one and a half times
		// that, so that two transactions that collided do not collide again.
		base := 10 * time.Millisecond << (n - 1)
		//nolint:gosec // spreading load, not a secret
		if !again || n == attempts || routine.Wait(ctx, base/2+rand.N(base)) != nil {
			return translate(err)
		}
	}
}

// operation names the function for which retry runs, such as Standings.
func operation() string {
	pcs := make([]uintptr, 10)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, _ := frames.Next() // without more of them, its function is empty
		_, name, _ := strings.Cut(frame.Function[strings.LastIndex(frame.Function, "/")+1:], ".")
		name = strings.TrimPrefix(strings.TrimPrefix(name, "(*Store)."), "(*Service).")
		switch name, _, _ = strings.Cut(name, "."); name {
		case "Update", "View", "UpdateSessions", "decide", "exec", "update[", "view[", "viewAll[", "viewOne[",
			"readByID[": // lead to it, whatever for
		default:
			return name
		}
	}
}

// forUpdate locks the rows that the query finds until the transaction ends. SQLite needs no row locks, because
// its transactions exclude other writers from the start. With clause.LockingOptionsSkipLocked it skips rows that
// another transaction has locked: one that locks many rows in its own order would deadlock with others that do.
func (tx *Tx) forUpdate(options ...string) *gorm.DB {
	if !tx.postgres {
		return tx.db
	}
	return tx.db.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate, Options: strings.Join(options, " ")})
}

// find returns the rows that a query selects.
func find[T any](query *gorm.DB) (rows []T, err error) {
	err = query.Find(&rows).Error
	return rows, err
}

// take returns the row that a query selects, with a condition as in GORM's Take, or fault.NotFound.
func take[T any](query *gorm.DB, condition ...any) (row T, err error) {
	err = query.Take(&row, condition...).Error
	return row, err
}

// update and view are Update and View for a function with a result.
func update[T any](ctx context.Context, s *Store, fn func(tx *Tx) (T, error)) (result T, err error) {
	err = s.Update(ctx, func(tx *Tx) (err error) {
		result, err = fn(tx)
		return err
	})
	return result, err
}

func view[T any](ctx context.Context, s *Store, fn func(tx *Tx) (T, error)) (result T, err error) {
	err = s.View(ctx, func(tx *Tx) (err error) {
		result, err = fn(tx)
		return err
	})
	return result, err
}

// viewAll and viewOne return the rows, or the row, that a query in a View selects.
func viewAll[T any](ctx context.Context, s *Store, query func(tx *Tx) *gorm.DB) ([]T, error) {
	return view(ctx, s, func(tx *Tx) ([]T, error) { return find[T](query(tx)) })
}

func viewOne[T any](ctx context.Context, s *Store, query func(tx *Tx) *gorm.DB) (T, error) {
	return view(ctx, s, func(tx *Tx) (T, error) { return take[T](query(tx)) })
}

// exec runs one statement in an Update.
func (s *Store) exec(ctx context.Context, statement string, args ...any) error {
	return s.Update(ctx, func(tx *Tx) error { return tx.db.Exec(statement, args...).Error })
}

// readByID runs a query that returns IDs and further columns of a table, for the rows with one of the IDs.
// fields returns where the further columns go. IDs of no row are missing in the result. The IDs are passed as
// text: the driver would first try and fail to encode a uuid.UUID in another way.
func readByID[T any](
	ctx context.Context, s *Store, query string, ids []uuid.UUID, fields func(*T) []any,
) (found map[uuid.UUID]T, err error) {
	among, arg := "$1", ids[0].String()
	if len(ids) > 1 {
		list, err := json.Marshal(ids)
		if err != nil {
			return nil, err
		}
		among, arg = "SELECT value FROM json_each($1)", string(list)
		if s.postgres != nil {
			among = "SELECT CAST(value AS uuid) FROM json_array_elements_text($1)"
		}
	}
	err = s.retry(ctx, func(ctx context.Context) (bool, error) {
		found = map[uuid.UUID]T{}
		//nolint:sqlclosecheck // each closes them
		rows, err := s.reader.ConnPool.QueryContext(ctx, query+" WHERE id IN ("+among+")", arg)
		if err == nil {
			err = each(rows, func() error {
				var id uuid.UUID
				var row T
				err := rows.Scan(append([]any{&id}, fields(&row)...)...)
				found[id] = row
				return err
			})
		}
		err = translate(err)
		return transient(err), err
	})
	return found, err
}

// each calls scan with each of the rows, and closes them.
func each(rows *sql.Rows, scan func() error) error {
	defer rows.Close() //nolint:errcheck // its error is that of Err
	for rows.Next() {
		if err := scan(); err != nil {
			return err
		}
	}
	return rows.Err()
}
