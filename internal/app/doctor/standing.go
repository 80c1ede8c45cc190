package doctor

import (
	"context"
	"fmt"
	"time"

	"agegate/internal/store"
)

// What a standby may lack, and how old a backup may be, before it is reported. The
// alert rules have the same limits.
const (
	lagLimit  = 256 << 20
	backupAge = 30 * time.Hour // one a night, with some hours to spare
)

// standing reports how well a PostgreSQL server is protected against its loss.
func (e *examiner) standing(ctx context.Context, db *store.Store) {
	found, err := db.Standing(ctx)
	if err != nil {
		e.problem("protection", err.Error(), "look for the cause in the database's own log")
		return
	}
	if found == nil {
		return // SQLite
	}
	for _, f := range standingFindings(*found, e.Now()) {
		e.Tell(f)
	}
}

// standingFindings judges how well a server is protected.
func standingFindings(s store.Standing, now time.Time) (findings []Finding) {
	const check = "protection"
	warn := func(found, advice string) { findings = append(findings, Finding{check, Warning, found, advice}) }
	if s.ArchiveFailing {
		findings = append(findings, Finding{check, Problem, "the last attempt to archive the database's log failed: its " +
			"disk fills, and no moment since can be restored", "look for archive_command in the database's own log"})
	}
	switch {
	case !s.Visible:
		warn("backups and standbys were not examined: the database's role may not see them",
			"GRANT pg_monitor TO the role in AGEGATE_DATABASE_URL")
		return findings
	case s.LagBytes > lagLimit:
		warn(fmt.Sprintf("a standby lacks %d MB of the database's log", s.LagBytes>>20),
			"look at the standby's log, its disk and its network")
	}
	switch {
	case s.LastBackup == nil:
		warn("no base backup on this server is known; dumps leave no trace",
			"back up as docs/operations.md says; after a failover the next backup ends this warning")
	case now.Sub(*s.LastBackup) > backupAge:
		warn(fmt.Sprintf("the last base backup is %d hours old", int(now.Sub(*s.LastBackup).Hours())),
			"look at the log of what makes the backups")
	}
	if findings == nil {
		found := fmt.Sprintf("the archive does not fail, the last base backup is %d hours old, and %d standbys follow",
			int(now.Sub(*s.LastBackup).Hours()), s.Standbys)
		findings = []Finding{{Check: check, Grade: OK, Found: found}}
	}
	return findings
}
