package store

import (
	"context"
	"time"
)

// Standing says how well a PostgreSQL server is protected against the loss of its
// machine.
type Standing struct {
	ArchiveFailing bool // the last attempt to archive the log failed
	// The rest needs the role pg_monitor.
	Visible    bool       // whether this role has it
	Standbys   int        // that follow the server
	LagBytes   int64      // how much of the log the slowest of them has not replayed
	LastBackup *time.Time // when the last base backup on this server ended; nil: none is known
}

// Standing reads how well the server is protected. On SQLite it returns nil.
func (s *Store) Standing(ctx context.Context) (*Standing, error) {
	if s.postgres == nil {
		return nil, nil
	}
	return view(ctx, s, func(tx *Tx) (*Standing, error) {
		var x Standing
		err := tx.db.Raw(`SELECT coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false),
			pg_has_role('pg_monitor', 'USAGE') FROM pg_stat_archiver`).Row().Scan(&x.ArchiveFailing, &x.Visible)
		if err != nil || !x.Visible {
			return &x, err
		}
		// A backup leaves a history file in the log's directory, whatever program makes it.
		err = tx.db.Raw(`SELECT count(*), coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 0)::bigint,
			(SELECT max(modification) FROM pg_ls_waldir() WHERE name LIKE '%.backup')
			FROM pg_stat_replication WHERE state = 'streaming'`).Row().Scan(&x.Standbys, &x.LagBytes, &x.LastBackup)
		return &x, err
	})
}
