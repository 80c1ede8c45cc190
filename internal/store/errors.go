package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	gosqlite "github.com/glebarez/go-sqlite"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"agegate/internal/rules/fault"
)

// translating is a GORM dialect that translates errors: GORM passes it the error of every failed statement.
type translating struct{ gorm.Dialector }

// Translate returns the fault for an expected error of the driver, and other errors unchanged.
func (translating) Translate(err error) error { return translate(err) }

// sqlStateError keeps the parts of a PostgreSQL error that contain no value. The
// server's own text may quote values.
type sqlStateError struct{ code, table, constraint string }

// Error names the code, table and constraint, never a value.
func (e *sqlStateError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("postgres: SQLSTATE %s %s %s", e.code, e.table, e.constraint))
}

// SQLState returns the code, for the log.
func (e *sqlStateError) SQLState() string { return e.code }

// withoutValues replaces an error of PostgreSQL, whose text may contain stored values.
func withoutValues(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return &sqlStateError{code: pg.Code, table: pg.TableName, constraint: pg.ConstraintName}
	}
	return err
}

// Full is the message of a fault of a database that has no room.
const Full = "The disk or the database is full"

// translate maps an error of GORM or a driver to a fault. NotFound is for a missing row, a reference to a
// missing row, and text that no row can hold; Conflict for a violated unique index; Unavailable for a database
// that is down, full, too slow or too busy. Faults are returned unchanged. Any other error is a bug, and is
// returned unchanged too.
func translate(err error) error {
	err = withoutValues(err)
	switch {
	case err == nil, fault.CodeOf(err) != "":
		return err
	case errors.Is(err, gorm.ErrRecordNotFound), errors.Is(err, sql.ErrNoRows),
		hasState(err, "23503"), hasCode(err, sqliteConstraintForeignKey), // a reference to a missing row
		hasState(err, "22021", "22P05"): // text that contains a NUL or is not UTF-8
		return fault.Wrap(err, fault.NotFound, "Not found")
	case hasState(err, "23505"), hasCode(err, sqliteConstraintUnique, sqliteConstraintPrimaryKey):
		return fault.Wrap(err, fault.Conflict, "Already exists")
	case hasCode(err, sqliteFull), hasState(err, "53100"):
		return fault.Wrap(err, fault.Unavailable, Full).After(retryAfter)
	case unavailable(err):
		return fault.Wrap(err, fault.Unavailable, "Database unavailable").After(retryAfter)
	}
	return err
}

// retryAfter is how long callers are asked to wait for the database: long enough
// for a restart, short enough for a shopper to wait.
const retryAfter = 5 * time.Second

// SQLite's result codes, see sqlite.org/rescode.html.
const (
	sqliteBusy                 = 5
	sqliteLocked               = 6
	sqliteNoMem                = 7
	sqliteReadOnly             = 8
	sqliteInterrupt            = 9
	sqliteIOErr                = 10
	sqliteFull                 = 13
	sqliteCantOpen             = 14
	sqliteConstraintForeignKey = 787
	sqliteConstraintPrimaryKey = 1555
	sqliteConstraintUnique     = 2067
)

func unavailable(err error) bool {
	return hasCode(err, sqliteBusy, sqliteLocked, sqliteNoMem, sqliteInterrupt, sqliteCantOpen) || refusesWrites(err) ||
		errors.Is(err, context.DeadlineExceeded) || rolledBack(err) || lostConnection(err) ||
		hasState(err, "53", "55P03", "57014", "25P03", "58")
}

// refusesWrites reports that the database is full or read-only, or that its files fail.
func refusesWrites(err error) bool {
	return hasCode(err, sqliteFull, sqliteReadOnly, sqliteIOErr) || hasState(err, "53100", "25006", "58030")
}

// rolledBack reports that PostgreSQL aborted the transaction in favour of
// another one: serialization failure or deadlock.
func rolledBack(err error) bool { return hasState(err, "40001", "40P01") }

// transient reports that a read, or a transaction that has not reached COMMIT, can be run again.
func transient(err error) bool { return rolledBack(err) || lostConnection(err) }

// lostConnection reports that the connection broke, or that the server is starting or stopping. The driver
// reports SafeToRetry for a connection that was closed before anything was sent.
func lostConnection(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	return hasState(err, "08", "57P0") || pgconn.SafeToRetry(err) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &connect) || errors.As(err, &network)
}

// hasState reports whether err is a PostgreSQL error whose SQLSTATE begins
// with one of the prefixes; see the PostgreSQL manual, appendix A.
func hasState(err error, prefixes ...string) bool {
	var state *sqlStateError
	return errors.As(err, &state) &&
		slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(state.code, p) })
}

// SQLiteWords returns what SQLite says of a result code.
func SQLiteWords(code int) string {
	return cmp.Or(gosqlite.ErrorCodeString[code], gosqlite.ErrorCodeString[code&0xff])
}

// hasCode reports whether err is a SQLite error with one of the codes. A code
// below 256 is a primary code and includes all its extended codes.
func hasCode(err error, codes ...int) bool {
	var lite *gosqlite.Error
	return errors.As(err, &lite) &&
		(slices.Contains(codes, lite.Code()) || slices.Contains(codes, lite.Code()&0xff))
}
