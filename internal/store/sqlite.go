package store

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/glebarez/sqlite"
)

// sqliteFile is the file behind a SQLite store.
type sqliteFile struct {
	path string
	turn *os.File // see turnPool
}

// maxIdleLog is the size in bytes to which a checkpoint truncates the write-ahead log. Without it, the file
// would keep the size of its largest transaction. Checkpoints start at 4 MB.
const maxIdleLog = 8 << 20

// openSQLite opens one writing connection and a read-only pool on the file. SQLite allows one writer at a time.
// Waiting for it in the pool respects the context; waiting in the library does not.
func openSQLite(path string) (*Store, error) {
	if path == "" || path[0] == ':' {
		return nil, errors.New("database URL sqlite: needs a file path")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("SQLite path: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("SQLite directory: %w", err)
	}
	// Only the owner can read the file; SQLite's default is everybody. Its journal files get the same mode. The mode of
	// an existing file is not changed.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator's own path
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("SQLite file: %w", err)
	}
	writer, err := sqlitePool(path, 1, url.Values{
		"_pragma": {
			"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
			fmt.Sprintf("journal_size_limit(%d)", maxIdleLog),
		},
		"_txlock": {"immediate"},
	})
	if err != nil {
		return nil, err
	}
	reader, err := sqlitePool(path, 4, url.Values{
		"mode":    {"ro"},
		"_pragma": {"busy_timeout(5000)", "query_only(1)"},
	})
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	turn, err := openLock(path + ".turn")
	if err != nil {
		return nil, errors.Join(err, reader.Close(), writer.Close())
	}
	s := &Store{sqlite: &sqliteFile{path, turn}}
	// The writer first: it creates the file that the readers need.
	if s.writer, err = openGORM(&sqlite.Dialector{Conn: &turnPool{newPool(writer), turn}}); err == nil {
		s.reader, err = openGORM(&sqlite.Dialector{Conn: newPool(reader)})
	}
	if err != nil {
		return nil, errors.Join(translate(err), turn.Close(), reader.Close(), writer.Close())
	}
	return s, nil
}

// sqlitePool never closes its connections while idle: opening one costs more
// than a query, and closing the last one would checkpoint the write-ahead log.
func sqlitePool(path string, conns int, params url.Values) (*sql.DB, error) {
	dsn := (&url.URL{Scheme: "file", Path: path, RawQuery: params.Encode()}).String()
	pool, err := sql.Open(sqlite.DriverName, dsn)
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	return pool, nil
}

// errLocked is returned when another process holds a lock file.
var errLocked = errors.New("lock file is held")

// openLock opens a lock file, and creates it if needed.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator's own path
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	return f, nil
}

// flock locks or unlocks a file, see flock(2). The kernel frees the lock when the
// file is closed or the process ends in any way.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}

// lockFile creates the file if needed and takes an exclusive lock on it, waiting if asked to.
func lockFile(path string, wait bool) (*os.File, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	if err := flock(f, how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
