package store

import (
	"database/sql"
	"errors"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
)

// pgServer holds what is needed to open further pools on the PostgreSQL
// database.
type pgServer struct{ config *pgx.ConnConfig }

// sessionDefaults are set on every connection unless the URL sets them, in
// milliseconds. The server's timeouts end before the caller's deadline, so that
// a stuck statement frees its connection instead of breaking it.
var sessionDefaults = map[string]string{
	"statement_timeout":                   "5000",
	"lock_timeout":                        "3000",
	"idle_in_transaction_session_timeout": "10000",
	"timezone":                            "UTC",
	"application_name":                    "agegate",
}

func openPostgres(cfg Config) (*Store, error) {
	config, err := pgx.ParseConfig(cfg.URL)
	if err != nil {
		// The parser's own message may quote the URL with its password.
		return nil, errors.New("database URL is not a valid postgres:// URL")
	}
	config.RuntimeParams = withDefaults(config.RuntimeParams)
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 3 * time.Second
	}
	pg := &pgServer{config: config}
	pool := pg.open(poolSize)
	db, err := openGORM(postgres.New(postgres.Config{Conn: pool}))
	if err != nil {
		return nil, errors.Join(translate(err), pool.Close())
	}
	return &Store{writer: db, reader: db, postgres: pg}, nil
}

func withDefaults(params map[string]string) map[string]string {
	all := maps.Clone(sessionDefaults)
	maps.Copy(all, params)
	return all
}

// poolSize is the most connections of a process.
const poolSize = 20

// open returns a new pool of at most conns connections. Connections are renewed
// every half hour, to follow a failover or a rebalanced proxy.
func (p *pgServer) open(conns int) *sql.DB {
	pool := stdlib.OpenDB(*p.config)
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	pool.SetConnMaxLifetime(30 * time.Minute)
	return pool
}

// withoutStatementTimeout is for migrations, whose statements may take long.
// The lock timeout stays: a migration that waits for a reader would block every
// other query.
func (p *pgServer) withoutStatementTimeout() *pgServer {
	config := p.config.Copy()
	config.RuntimeParams["statement_timeout"] = "0"
	return &pgServer{config: config}
}
