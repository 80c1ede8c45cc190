package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"agegate/internal/rules/routine"
)

const (
	refusedPause = 50 * time.Millisecond // before a refused connection is asked for again
	refusedRest  = time.Minute           // before the pool grows again
)

// sharingConnector makes connections to a server that may refuse further ones, because of its own limit or that
// of the role. After a refusal, the pool shrinks to the connections that it has: statements then wait for one
// of them and do not fail. The pool grows again after refusedRest without a refusal.
type sharingConnector struct {
	driver.Connector
	size int
	pool *sql.DB
	grow *time.Timer
}

// sharing returns a pool of at most size connections that shrinks when the server
// refuses further connections; see sharingConnector.
func sharing(to driver.Connector, size int) *sql.DB {
	c := &sharingConnector{Connector: to, size: size}
	c.pool = sql.OpenDB(c)
	c.grow = time.AfterFunc(refusedRest, c.restore)
	c.restore()
	return c.pool
}

// restore sets the pool's size.
func (c *sharingConnector) restore() {
	c.pool.SetMaxOpenConns(c.size)
	c.pool.SetMaxIdleConns(c.size)
}

// Connect implements driver.Connector. After a refusal it returns driver.ErrBadConn,
// which makes the pool wait for another connection.
func (c *sharingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || refused.Code != "53300" { // too_many_connections
		return conn, err
	}
	c.pool.SetMaxOpenConns(max(c.pool.Stats().OpenConnections-1, 1)) // this one is counted, too
	c.grow.Reset(refusedRest)
	_ = routine.Wait(ctx, refusedPause)
	return nil, driver.ErrBadConn
}
