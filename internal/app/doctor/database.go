package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"

	"golang.org/x/sys/unix"
)

// Differences between this machine's clock and the database's. Smaller ones than the first cannot be measured over a
// slow network. From the second on, merchants refuse webhooks if their clocks agree with this machine's, because
// webhooks carry the database's time.
const (
	clockDrift = 2 * time.Second
	clockWrong = time.Minute
)

// database examines the database, and everything that needs it.
func (e *examiner) database(ctx context.Context) {
	e.Progress("database")
	if path, missing := e.Config.NoFileYet(); missing {
		e.noFileYet(path)
		return
	}
	opening, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	db, err := store.Open(opening, store.Config{URL: e.Config.DatabaseURL, Now: e.Now})
	if err != nil {
		advice := "check " + config.DatabaseURLName +
			": host, port, database, role and password, and that the server runs and lets this machine in"
		if strings.HasPrefix(e.Config.DatabaseURL, "sqlite:") {
			advice = "let the gateway's user write the file and its directory, see that their disk has space, or correct " +
				config.DatabaseURLName
		}
		e.problem("database", err.Error(), UnlessDamaged(err, advice))
		return
	}
	defer db.Close()
	if !e.state(ctx, db) {
		return
	}
	tenants := tenant.NewService(db, e.Sealer, tenant.CallbackRule{}, rand.Reader, e.Now)
	given := facts{e.Config, db, e.Sealer, e.Now(), e.answers}
	for _, s := range stored {
		e.within(ctx, s.name, func(ctx context.Context) {
			found, err := s.find(ctx, given)
			if err != nil {
				e.problem(s.name, err.Error(), UnlessDamaged(err, "look for the cause in the database's own log"))
				return
			}
			for _, f := range found {
				e.Tell(f)
			}
		})
	}
	e.within(ctx, "operators", func(ctx context.Context) {
		out, err := db.LockedOut(ctx)
		if err == nil && out && e.Config.SSO.Issuer == "" { // single sign-on may let in others
			e.warn("operators", "all are disabled: none can log in", "agegate user enable lets one in again")
		}
		for i, grant := range e.Config.SSO.Grants {
			if _, err := db.TenantByID(ctx, grant.TenantID); !grant.Operator && fault.CodeOf(err) == fault.NotFound {
				e.warn("AGEGATE_OIDC_ROLES", fmt.Sprintf("entry %d: no tenant has this ID", i+1),
					"correct or remove it: agegate tenant list has the IDs")
			}
		}
	})
	e.within(ctx, "going back", func(ctx context.Context) { e.back(ctx, tenants) })
	e.callbacks(ctx, tenants)
}

// UnlessDamaged returns an advice about an error of the database, or what to do about a damaged SQLite file.
func UnlessDamaged(err error, advice string) string {
	if text := fmt.Sprint(err); strings.Contains(text, "malformed") || strings.Contains(text, "file is not a database") {
		return "the file is damaged, or no database of agegate: restore the last backup as docs/operations/back-up.md says"
	}
	return advice
}

// noFileYet reports whether the gateway can create its SQLite file in its directory, or
// in the nearest parent directory that exists.
func (e *examiner) noFileYet(path string) {
	dir := filepath.Dir(path)
	for errors.Is(unix.Access(dir, unix.F_OK), fs.ErrNotExist) {
		dir = filepath.Dir(dir)
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		e.problem("database", fmt.Sprintf("there is no SQLite file, and none can be made in %s: %v", dir, err),
			"let the gateway's user write this directory, or correct "+config.DatabaseURLName)
		return
	}
	e.warn("database", "there is no SQLite file yet, so callbacks were not examined",
		"agegate serve makes it; if there should be one, correct "+config.DatabaseURLName)
}

// FreeDisk returns how many bytes are free where the SQLite file is, or -1 if that is not known.
func FreeDisk(cfg config.Config) int64 {
	path, isFile := strings.CutPrefix(cfg.DatabaseURL, "sqlite:")
	var disk unix.Statfs_t
	if unix.Statfs(filepath.Dir(path), &disk) != nil || !isFile || disk.Blocks == 0 {
		return -1
	}
	return int64(min(float64(disk.Bavail)*float64(disk.Bsize), 1<<62))
}

// diskFindings warns if fewer bytes than limit are free where the SQLite file is.
func diskFindings(limit float64) func(context.Context, facts) ([]Finding, error) {
	return func(_ context.Context, f facts) ([]Finding, error) {
		free := FreeDisk(f.cfg)
		if free < 0 || float64(free) >= limit {
			return nil, nil // another machine's, or not known
		}
		return []Finding{{"disk", "disk", Warning, fmt.Sprintf("%d MB are left where the database is", free>>20),
			"make room as docs/operations/trouble.md says: on a full disk no session is created", nil}}, nil
	}
}

// state reports the condition of the database, and returns whether this binary can read its tables.
func (e *examiner) state(ctx context.Context, db *store.Store) bool {
	const check = "database"
	before := e.Now()
	x, err := db.Examine(ctx)
	after := e.Now()
	if err != nil {
		e.problem(check, err.Error(), UnlessDamaged(err, "look for the cause in the database's own log"))
		return false
	}
	found := fmt.Sprintf("%s %s answers", x.Dialect, x.Version)
	if x.Pooled {
		found += " through a pooler by transaction, so set the role's time limits and " + config.MigrationURLName +
			" as docs/operations/grow.md says"
	}
	if x.ReadOnly {
		e.problem(check, found+", but takes no writes", "name the primary in "+config.DatabaseURLName+
			", or make the database or the role writable (default_transaction_read_only)")
	} else if err := db.TryWrite(ctx); err != nil && len(x.Pending) == 0 {
		e.problem(check, found+", but takes no writes: "+err.Error(),
			UnlessDamaged(err, "make room on its disk and in its quota, and let the gateway's user write its files"))
	} else {
		e.ok(check, found)
	}
	if x.Dialect == "postgres" {
		e.compareClocks(x.Clock.Sub(before.Add(after.Sub(before)/2)), after.Sub(before))
	}
	if len(x.Pending) > 0 {
		e.warn("schema", fmt.Sprintf("migrations to be applied: %d; secret key and callbacks were not examined",
			len(x.Pending)), "run agegate migrate; agegate serve does it at its start")
		return false
	}
	if len(x.Unknown) > 0 {
		e.warn("schema", fmt.Sprintf("a newer version of agegate has applied migrations that this one does not know: %d",
			len(x.Unknown)), "fine during an upgrade or after going back; otherwise upgrade this machine")
		return true
	}
	e.ok("schema", "all migrations were applied")
	return true
}

// compareClocks reports how far the database's clock is ahead, measured by a query that took the given time.
func (e *examiner) compareClocks(ahead, took time.Duration) {
	const check, advice = "database's clock", "set both machines' clocks by a time service"
	found := fmt.Sprintf("it differs from this machine's by %s", ahead.Abs().Round(time.Millisecond))
	switch off := ahead.Abs() - took/2; {
	case off > clockWrong:
		e.problem(check, found, advice)
	case off > clockDrift:
		e.warn(check, found, advice)
	default:
		e.ok(check, found)
	}
}
