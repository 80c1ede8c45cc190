package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"syscall"
	"time"

	"gorm.io/gorm"

	"agegate/internal/rules/routine"
)

// turnPool is the pool of a SQLite file's writer. Processes that write to the file take turns to begin their
// transactions: each holds a lock file until its transaction has begun. Without turns, a gateway under load
// would keep out an operator's command: between its attempts the command sleeps for up to 100 ms, and the
// gateway begins its next transaction within microseconds.
type turnPool struct {
	*pool
	file *os.File
}

// BeginTx implements gorm.ConnPoolBeginner. It first waits for a connection, that is,
// for the end of this process's earlier transaction, and then for its turn.
func (p *turnPool) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	tx, err := conn.BeginTx(ctx, opts)
	if passed := flock(p.file, syscall.LOCK_UN); err == nil && passed != nil {
		err = errors.Join(passed, tx.Rollback()) // conn.Close waits for the end of the transaction
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &turnTransaction{transaction{normalising{tx}, tx}, conn}, nil
}

// await waits for the turn until the context ends.
func (p *turnPool) await(ctx context.Context) error {
	for {
		err := flock(p.file, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, errLocked) {
			return err
		}
		if routine.Wait(ctx, time.Millisecond) != nil {
			return ctx.Err()
		}
	}
}

// turnTransaction is a transaction that returns its connection when it ends.
type turnTransaction struct {
	transaction
	conn *sql.Conn
}

// Commit implements gorm.TxCommitter.
func (t *turnTransaction) Commit() error { return errors.Join(t.tx.Commit(), t.conn.Close()) }

// Rollback implements gorm.TxCommitter.
func (t *turnTransaction) Rollback() error { return errors.Join(t.tx.Rollback(), t.conn.Close()) }
