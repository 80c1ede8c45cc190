package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"agegate/internal/rules/fault"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Migrations only add, so an older replica continues to work while a newer one
// starts. Each dialect has its folder; the numbers are the same in both, and
// not consecutive. A new column also needs its field in the domain type; one that
// decisions about a session change is named in decided, too.
//
//go:embed migrations
var migrations embed.FS

// Migrate updates the schema to this binary's version. Several processes may call it at the same time: one
// migrates, the others wait. It sets no deadline, because a migration may take long.
func (s *Store) Migrate(ctx context.Context) error {
	if pending, err := s.pending(ctx); err != nil || !pending {
		return err
	}
	server := s.postgres
	if server == nil {
		return s.migrateOn(ctx, nil)
	}
	if s.migrate != "" {
		var err error
		if server, err = meetPostgres(ctx, s.migrate); err != nil {
			return fmt.Errorf("AGEGATE_MIGRATION_URL: %w", translate(err))
		}
	}
	if server.isPooled() && server.limits {
		return errLimited
	}
	if err := s.migrateOn(ctx, server); err != nil {
		return err
	}
	if pending, err := s.pending(ctx); err != nil || !pending {
		return err
	}
	return errElsewhere
}

// Advice for operators about migrations that cannot run.
var (
	errLimited = errors.New("the schema has to be migrated, but the role's statement_timeout or lock_timeout would end " +
		"a long migration " +
		"and cannot be lifted through a pooler: set AGEGATE_MIGRATION_URL to the URL of the server itself")
	errElsewhere = errors.New("AGEGATE_MIGRATION_URL leads to another database than AGEGATE_DATABASE_URL: correct it")
)

// pending reports whether migrations must be applied.
func (s *Store) pending(ctx context.Context) (bool, error) {
	x, err := s.Examine(ctx)
	return len(x.Pending) > 0, err
}

// migrateOn migrates the SQLite file, or the database of a PostgreSQL server.
func (s *Store) migrateOn(ctx context.Context, server *pgServer) (err error) {
	provider, done, err := s.provider(server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if s.sqlite != nil {
		// SQLite has no session locks. A lock file keeps a second process from running the same migration.
		held, err := lockFile(s.sqlite.path+".migrate.lock", true)
		if err != nil {
			return err
		}
		defer held.Close() //nolint:errcheck // nothing was written to it
	}
	if _, err := provider.Up(ctx); hasCode(err, sqliteFull) || hasState(err, "53100") { // each migration is a transaction
		return fault.New(fault.Unavailable, "migrate: "+Full+": make room and start again; nothing is lost")
	} else if err != nil {
		return fmt.Errorf("migrate: %w", translate(explained(err)))
	}
	return nil
}

// provider returns goose on this database and the function to release it.
func (s *Store) provider(server *pgServer) (*goose.Provider, func() error, error) {
	if server == nil {
		db, err := s.writer.DB()
		if err != nil {
			return nil, nil, err
		}
		provider, err := goose.NewProvider(goose.DialectSQLite3, db, folder("sqlite"), goose.WithLogger(goose.NopLogger()))
		return provider, func() error { return nil }, err
	}
	// The lock is a row with a lease, because an advisory lock does not work through a pooler. Try it every second
	// for five minutes: the default interval of 5 s would delay replicas that start together.
	locker, err := lock.NewPostgresTableLocker(lock.WithTableLockTimeout(time.Second, 300))
	if err != nil {
		return nil, nil, err
	}
	db := server.withoutStatementTimeout().open(2)
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
