// Package store stores the gateway's rows in PostgreSQL or SQLite through GORM and implements the storage
// interfaces of the domain packages. All access goes through Store.Update and Store.View, which apply the
// deadline, the transaction and the retries. No statement's parameters are ever logged, and no error of this
// package contains a stored value.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"agegate/internal/rules/fault"
)

// Timeout is the default of Config.Timeout.
const Timeout = 5 * time.Second

// Config names the database.
type Config struct {
	// URL is "sqlite:PATH" (relative to the working directory, or absolute) or
	// "postgres://…" as pgx reads it. It may hold a password: never log it.
	URL string
	// MigrationURL is the server's own URL if URL leads to a pooler. Only Migrate uses it; empty means URL.
	MigrationURL string
	// Timeout bounds one Update, with all its retries, or one View: a caller
	// never waits longer for a database that does not answer. 0 means Timeout.
	Timeout time.Duration
	// Now is the clock that determines on SQLite when webhook deliveries are due; nil means time.Now. On
	// PostgreSQL the server's clock does, which all replicas share.
	Now func() time.Time
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	writer   *gorm.DB
	reader   *gorm.DB // on PostgreSQL the same as writer
	postgres *pgServer
	migrate  string      // Config.MigrationURL
	sqlite   *sqliteFile // exactly one of the two is set
	lock     *os.File    // held from LockServe to Close
	refused  atomic.Bool // an Update was refused for good, and TryWrite has not succeeded since
	timeout  time.Duration
	now      func() time.Time
}

// Open connects to the database and checks that it answers. On SQLite it creates the directory and the file if
// they are missing. It does not change the schema; see Migrate.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	var s *Store
	var err error
	switch {
	case strings.HasPrefix(cfg.URL, "sqlite:"):
		s, err = openSQLite(strings.TrimPrefix(cfg.URL, "sqlite:"))
	case strings.HasPrefix(cfg.URL, "postgres://"), strings.HasPrefix(cfg.URL, "postgresql://"):
		s, err = openPostgres(ctx, cfg)
	default:
		return nil, errors.New("database URL must start with sqlite: or postgres://")
	}
	if err != nil {
		return nil, err
	}
	s.timeout, s.now, s.migrate = cmp.Or(cfg.Timeout, Timeout), cfg.Now, cfg.MigrationURL
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Ping reports whether the database answers a query: nil, or fault.Unavailable.
func (s *Store) Ping(ctx context.Context) error {
	return s.View(ctx, func(tx *Tx) error {
		var one int
		return tx.db.Raw("SELECT 1").Scan(&one).Error
	})
}

// errReadOnly is returned by Writable.
var errReadOnly = fault.New(fault.Unavailable, "Database is read-only")

// Writable reports whether the database accepts changes: nil, or fault.Unavailable. It writes only after a full
// or read-only database has refused an Update: then TryWrite must succeed.
func (s *Store) Writable(ctx context.Context) error {
	if s.refused.Load() {
		return s.TryWrite(ctx)
	}
	if s.postgres == nil {
		return nil
	}
	readOnly, err := view(ctx, s, func(tx *Tx) (readOnly bool, err error) {
		err = tx.db.Raw("SELECT current_setting('transaction_read_only')::boolean").Scan(&readOnly).Error
		return readOnly, err
	})
	if err == nil && readOnly {
		return errReadOnly
	}
	return err
}

// LockServe makes this process the only server of a SQLite file until Close. It fails with fault.Conflict when
// another process serves the file. Operator commands do not take the lock and may run while a server runs.
// PostgreSQL serves any number of replicas, so there it does nothing.
func (s *Store) LockServe() error {
	if s.sqlite == nil || s.lock != nil {
		return nil
	}
	f, err := lockFile(s.sqlite.path+".lock", false)
	if errors.Is(err, errLocked) {
		return fault.New(fault.Conflict, "another server is already running on this SQLite file")
	}
	s.lock = f
	return err
}

// Stats returns the state of the connection pool that writes.
func (s *Store) Stats() sql.DBStats {
	db, err := s.writer.DB()
	if err != nil {
		return sql.DBStats{}
	}
	return db.Stats()
}

// Close releases every connection and lock.
func (s *Store) Close() error {
	var errs []error
	if s.reader != s.writer {
		errs = append(errs, closePool(s.reader))
	}
	errs = append(errs, closePool(s.writer)) // last: SQLite then checkpoints its log
	if s.sqlite != nil {
		errs = append(errs, s.sqlite.turn.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

func closePool(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// openGORM returns a GORM handle on a pool. QueryFields names every column, so
// that a column added by a newer replica does not break this one's statements.
func openGORM(d gorm.Dialector) (*gorm.DB, error) {
	registerSerializers()
	return gorm.Open(translating{d}, &gorm.Config{
		Logger:                 logger.Discard, // statements carry secrets' digests and sealed secrets
		QueryFields:            true,
		TranslateError:         true,
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
		NowFunc:                func() time.Time { return at(time.Now()) },
	})
}
