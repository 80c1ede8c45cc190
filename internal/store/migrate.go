package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Migrations only add, so an older replica keeps serving while a newer one
// starts. Each dialect has its folder; the numbers are the same in both.
//
//go:embed migrations
var migrations embed.FS

// Migrate updates the schema to this binary's version. Several processes may
// call it at the same time: one migrates, the others wait. It sets no deadline,
// because a migration may take long.
func (s *Store) Migrate(ctx context.Context) (err error) {
	provider, done, err := s.migrator()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if s.sqlite != nil {
		// SQLite has no session locks. A lock file keeps a second process from
		// running the same migration.
		held, err := lockFile(s.sqlite.path+".migrate.lock", true)
		if err != nil {
			return err
		}
		defer held.Close() //nolint:errcheck // nothing was written to it
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", translate(err))
	}
	return nil
}

// migrator returns goose on this database and the function to release it.
func (s *Store) migrator() (*goose.Provider, func() error, error) {
	if s.postgres == nil {
		db, err := s.writer.DB()
		if err != nil {
			return nil, nil, err
		}
		provider, err := goose.NewProvider(goose.DialectSQLite3, db, folder("sqlite"), goose.WithLogger(goose.NopLogger()))
		return provider, func() error { return nil }, err
	}
	// The lock is a row with a lease, because an advisory lock does not work
	// through a pooler. Try it every second for five minutes: the default
	// interval of 5 s would delay replicas that start together.
	locker, err := lock.NewPostgresTableLocker(lock.WithTableLockTimeout(time.Second, 300))
	if err != nil {
		return nil, nil, err
	}
	db := s.postgres.withoutStatementTimeout().open(2)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, folder("postgres"),
		goose.WithLocker(locker), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return provider, db.Close, nil
}

func folder(dialect string) fs.FS {
	sub, err := fs.Sub(migrations, "migrations/"+dialect)
	if err != nil {
		panic(err) // only for an invalid literal
	}
	return sub
}
