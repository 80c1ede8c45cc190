package store

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"
)

// Examination is the state of a database, for operators.
type Examination struct {
	Dialect  string    // postgres or sqlite
	Version  string    // of the server or library
	Pooled   bool      // behind a pooler that lends connections for a transaction
	ReadOnly bool      // its transactions may not write
	Clock    time.Time // the server's; zero on SQLite
	Pending  []int64   // migrations of this binary that were not applied
	Unknown  []int64   // migrations that were applied and this binary does not have
}

// Examine reads the state of the database and changes nothing.
func (s *Store) Examine(ctx context.Context) (Examination, error) {
	return view(ctx, s, func(tx *Tx) (x Examination, err error) {
		table := "SELECT count(*) FROM sqlite_master WHERE name = 'goose_db_version'"
		x.Dialect = "sqlite"
		if tx.postgres {
			table, x.Dialect = "SELECT count(to_regclass('goose_db_version'))", "postgres"
			x.Pooled = s.postgres.isPooled()
			err = tx.db.Raw("SELECT current_setting('server_version'), current_setting('transaction_read_only') = 'on', "+
				"clock_timestamp()").
				Row().Scan(&x.Version, &x.ReadOnly, &x.Clock)
		} else {
			err = tx.db.Raw("SELECT sqlite_version()").Row().Scan(&x.Version)
		}
		if err != nil {
			return x, err
		}
		known, err := versions(x.Dialect)
		if err != nil {
			return x, err
		}
		var tables int
		var applied []int64
		if err := tx.db.Raw(table).Scan(&tables).Error; err != nil {
			return x, err
		}
		if tables > 0 {
			if err := tx.db.Raw("SELECT version_id FROM goose_db_version " +
				"WHERE is_applied AND version_id > 0 ORDER BY version_id").Scan(&applied).Error; err != nil {
				return x, err
			}
		}
		x.Pending = slices.DeleteFunc(slices.Clone(known), func(v int64) bool { return slices.Contains(applied, v) })
		x.Unknown = slices.DeleteFunc(applied, func(v int64) bool { return slices.Contains(known, v) })
		return x, nil
	})
}

// versions lists the numbers of this binary's migrations.
func versions(dialect string) ([]int64, error) {
	files, err := fs.Glob(folder(dialect), "*.sql")
	if err != nil {
		return nil, err
	}
	list := make([]int64, len(files))
	for i, file := range files {
		if _, err := fmt.Sscanf(path.Base(file), "%d_", &list[i]); err != nil {
			return nil, fmt.Errorf("migration %s has no number", file)
		}
	}
	return list, nil
}
