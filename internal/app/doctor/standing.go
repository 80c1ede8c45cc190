package doctor

import (
	"cmp"
	"fmt"
	"time"

	"agegate/internal/store"
)

// Limits for a standby's lag and a backup's age. Worse values are reported. The alert rules have the same limits.
const (
	lagLimit  = 256 << 20
	backupAge = 30 * time.Hour // one a night, with some hours to spare
)

// standingFindings judges how well a database is protected.
func standingFindings(s store.Standing, now time.Time) (findings []Finding) {
	const check = "protection"
	warn := func(name, found, advice string) {
		findings = append(findings, Finding{name, check, Warning, found, advice, nil})
	}
	if s.ArchiveFailing {
		findings = append(findings, Finding{"archive", check, Problem,
			"the last attempt to archive the database's log failed: its disk fills, and no moment since can be restored",
			"look for archive_command in the database's own log", nil})
	}
	hidden := s.Server && !s.Visible
	if hidden {
		warn("hidden", "standbys and base backups were not examined: the database's role may not see them",
			"GRANT pg_monitor TO the role in AGEGATE_DATABASE_URL")
	}
	if s.LagBytes > lagLimit {
		warn("standby", fmt.Sprintf("a standby lacks %d MB of the database's log", s.LagBytes>>20),
			"look at the standby's log, its disk and its network")
	}
	age := now.Sub(*cmp.Or(s.LastBackup, &now))
	switch {
	case s.LastBackup == nil && !hidden:
		warn("no_backup", "no backup is known", "back up as docs/operations/back-up.md says, and let what makes a dump or "+
			"a copy end with agegate database backed-up; a new primary knows of no base backup before the next one")
	case age > backupAge:
		warn("old_backup", fmt.Sprintf("the last backup is %d h old", int(age.Hours())),
			"look at the log of what makes the backups")
	}
	if findings == nil {
		found := fmt.Sprintf("the last backup is %d h old", int(age.Hours()))
		if s.Server {
			found += fmt.Sprintf(", the archive does not fail, and the standbys that follow are %d", s.Standbys)
		}
		findings = []Finding{{Check: check, Grade: OK, Found: found}}
	}
	return findings
}
