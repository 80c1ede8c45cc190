package store

import (
	"time"

	"gorm.io/gorm"
)

// dbNowPlus returns the time d from now, as an argument of a statement. On PostgreSQL it is by the server's
// clock, so that replicas with different clocks agree on what is due. On SQLite it is by Config.Now.
func (tx *Tx) dbNowPlus(d time.Duration) any {
	if tx.postgres {
		return gorm.Expr("statement_timestamp() + make_interval(secs => ?)", d.Seconds())
	}
	return at(tx.now().Add(d))
}

// dbNow is dbNowPlus(0).
func (tx *Tx) dbNow() any { return tx.dbNowPlus(0) }

// readClock returns the current time by the clock of dbNow.
func (tx *Tx) readClock() (now time.Time, err error) {
	if !tx.postgres {
		return at(tx.now()), nil
	}
	err = tx.db.Raw("SELECT statement_timestamp()").Scan(&now).Error
	return at(now), err
}
