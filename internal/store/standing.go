package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"
)

// Standing says how well the database is protected against the loss of its machine.
type Standing struct {
	LastBackup *time.Time // the newest of which anything is known, when it ended; nil: none

	Server         bool // PostgreSQL; the rest is about its server
	ArchiveFailing bool // the last attempt to archive the log failed
	// The rest, and base backups, need the role pg_monitor.
	Visible  bool  // whether this role has it
	Standbys int   // that follow the server
	LagBytes int64 // how much of the log the slowest of them has not replayed
}

// backup is the last backup that an operator recorded. There is one row at most.
type backup struct {
	ID     int `gorm:"primaryKey"`
	MadeAt time.Time
}

// RecordBackup records that a backup was made at a time.
func (s *Store) RecordBackup(ctx context.Context, at time.Time) error {
	return s.Update(ctx, func(tx *Tx) error {
		return tx.db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&backup{ID: 1, MadeAt: at}).Error
	})
}

// Standing reads how well the database is protected.
func (s *Store) Standing(ctx context.Context) (Standing, error) {
	return view(ctx, s, func(tx *Tx) (x Standing, err error) {
		recorded, err := find[backup](tx.db)
		if err != nil {
			return x, err
		}
		if len(recorded) > 0 {
			x.LastBackup = &recorded[0].MadeAt
		}
		if x.Server = tx.postgres; !x.Server {
			return x, nil
		}
		err = tx.db.Raw(`SELECT coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false),
			pg_has_role('pg_monitor', 'USAGE') FROM pg_stat_archiver`).Row().Scan(&x.ArchiveFailing, &x.Visible)
		if err != nil || !x.Visible {
			return x, err
		}
		// A base backup leaves a history file, and the program that makes it replays nothing.
		err = tx.db.Raw(`SELECT count(*), coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 0)::bigint,
			greatest(?, (SELECT max(modification) FROM pg_ls_waldir() WHERE name LIKE '%.backup'))
			FROM pg_stat_replication WHERE state = 'streaming' AND replay_lsn IS NOT NULL`, x.LastBackup).
			Row().Scan(&x.Standbys, &x.LagBytes, &x.LastBackup)
		return x, err
	})
}
