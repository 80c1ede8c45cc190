package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// attempts is how often one Update or View is tried before its failure stands.
const attempts = 5

// Tx is a running transaction of Update, or a reader of View, bound to the
// context of that call. It must not be used after the function it was given to
// has returned. Its methods return the faults of internal/fault for expected
// failures.
type Tx struct {
	db       *gorm.DB
	postgres bool
	now      func() time.Time // SQLite's clock; see dbNowPlus
}

func (s *Store) tx(db *gorm.DB) *Tx {
	return &Tx{db: db, postgres: s.postgres != nil, now: s.now}
}

// Update runs fn in one transaction and commits it when fn returns nil.
//
// The transaction is run again when it certainly left nothing behind: after a
// deadlock, a serialization failure, or a connection lost before COMMIT. So fn
// must change nothing outside tx, and start from scratch each time. A COMMIT
// that fails otherwise has an unknown result and comes back as
// fault.Unavailable: read the state again before answering.
//
// Inside fn, use tx only: calling the Store again waits for a second
// connection, which on SQLite never comes.
func (s *Store) Update(ctx context.Context, fn func(tx *Tx) error) error {
	return s.retry(ctx, func(ctx context.Context) (bool, error) {
		db := s.writer.WithContext(ctx).Begin()
		if db.Error != nil {
			return transient(db.Error), db.Error
		}
		committed := false
		defer func() {
			if !committed { // also when fn panics
				db.Rollback()
			}
		}()
		if err := fn(s.tx(db)); err != nil {
			return transient(err), err
		}
		committed = true
		err := db.Commit().Error
		return rolledBack(err), err
	})
}

// View runs fn outside any transaction, on SQLite against the read-only pool.
// fn must only read; it is run again after a lost connection. The SQLite driver
// does not interrupt a SELECT that has begun, so every query must be short by
// its own shape.
func (s *Store) View(ctx context.Context, fn func(tx *Tx) error) error {
	return s.retry(ctx, func(ctx context.Context) (bool, error) {
		err := fn(s.tx(s.reader.WithContext(ctx)))
		return transient(err), err
	})
}

// retry calls try until it succeeds, reports that its error is not worth
// another attempt, or runs out of attempts or time.
func (s *Store) retry(parent context.Context, try func(ctx context.Context) (again bool, err error)) error {
	ctx, cancel := context.WithTimeout(parent, s.timeout)
	defer cancel()
	for n := 1; ; n++ {
		again, err := try(ctx)
		if err == nil {
			return nil
		}
		if errors.Is(parent.Err(), context.Canceled) {
			return context.Canceled // the caller has gone; nothing is wrong with the database
		}
		if !again || n == attempts || !sleep(ctx, backoff(n)) {
			return translate(err)
		}
	}
}

// backoff doubles from 10 ms and is spread over half to one and a half times
// that, so that two transactions that met once do not meet again.
func backoff(n int) time.Duration {
	base := 10 * time.Millisecond << (n - 1)
	return base/2 + rand.N(base) //nolint:gosec // spreading load, not a secret
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// forUpdate locks what the query finds until the transaction ends. SQLite needs
// no lock of rows: a transaction is the only writer from its beginning.
func (tx *Tx) forUpdate() *gorm.DB {
	if !tx.postgres {
		return tx.db
	}
	return tx.db.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
}

// skipLocked ends a query for rows to change that leaves alone those which
// another transaction is changing.
func (tx *Tx) skipLocked() string {
	if tx.postgres {
		return " FOR UPDATE SKIP LOCKED"
	}
	return ""
}

// update and view are Update and View for a function with a result.
func update[T any](ctx context.Context, s *Store, fn func(tx *Tx) (T, error)) (result T, err error) {
	err = s.Update(ctx, func(tx *Tx) (err error) {
		result, err = fn(tx)
		return err
	})
	return result, err
}

func view[T any](ctx context.Context, s *Store, fn func(tx *Tx) (T, error)) (result T, err error) {
	err = s.View(ctx, func(tx *Tx) (err error) {
		result, err = fn(tx)
		return err
	})
	return result, err
}
