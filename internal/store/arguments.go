package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"gorm.io/gorm"
)

// Times and IDs are converted in this file, so that no statement has to convert them. The pool and the
// transaction convert arguments before the driver gets them. The drivers return times in UTC: SQLite's by
// itself, PostgreSQL's because of resultsInUTC.

// at converts a time to the only form that is stored and compared: UTC in whole microseconds. SQLite compares
// times as text, which is correct only if all have the same zone.
func at(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// normal returns a copy of a statement's arguments. Times are converted by at, and IDs to text: PostgreSQL's
// driver would first try to encode a uuid.UUID in another way, and fail.
func normal(args []any) []any {
	list := make([]any, len(args))
	for i, arg := range args {
		switch t := arg.(type) {
		case time.Time:
			list[i] = at(t)
		case *time.Time:
			if t != nil {
				list[i] = at(*t)
			}
		case uuid.UUID:
			list[i] = t.String()
		case *uuid.UUID:
			if t != nil {
				list[i] = t.String()
			}
		default:
			list[i] = arg
		}
	}
	return list
}

// normalising converts the arguments of each statement by normal.
type normalising struct{ gorm.ConnPool }

func (n normalising) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return n.ConnPool.ExecContext(ctx, query, normal(args)...)
}

func (n normalising) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return n.ConnPool.QueryContext(ctx, query, normal(args)...)
}

func (n normalising) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return n.ConnPool.QueryRowContext(ctx, query, normal(args)...)
}

// pool is the pool of connections that GORM uses.
type pool struct {
	normalising
	db *sql.DB
}

func newPool(db *sql.DB) *pool { return &pool{normalising{db}, db} }

// GetDBConn implements gorm.GetDBConnector.
func (p *pool) GetDBConn() (*sql.DB, error) { return p.db, nil }

// BeginTx implements gorm.ConnPoolBeginner.
func (p *pool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	tx, err := p.db.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &transaction{normalising{tx}, tx}, nil
}

// transaction is a running transaction of GORM.
type transaction struct {
	normalising
	tx *sql.Tx
}

// Commit implements gorm.TxCommitter.
func (t *transaction) Commit() error { return t.tx.Commit() }

// Rollback implements gorm.TxCommitter.
func (t *transaction) Rollback() error { return t.tx.Rollback() }

// resultsInUTC makes a connection of PostgreSQL return times in UTC; the driver's
// default is the zone of the process.
func resultsInUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}
