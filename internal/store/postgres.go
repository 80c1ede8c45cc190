package store

import (
	"context"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
)

// pgServer holds what is needed to open further pools on the PostgreSQL database.
type pgServer struct {
	config *pgx.ConnConfig
	own    map[string]string // connection settings of the URL
	limits bool              // the database's role has time limits; see meet
}

// sessionDefaults are set on every connection unless the URL sets them, in milliseconds. The server's timeouts
// end before the caller's deadline, so that a stuck statement frees its connection instead of breaking it.
var sessionDefaults = map[string]string{
	"statement_timeout":                   "5000",
	"lock_timeout":                        "3000",
	"idle_in_transaction_session_timeout": "10000",
	"timezone":                            "UTC",
	"application_name":                    "agegate",
}

func openPostgres(ctx context.Context, cfg Config) (*Store, error) {
	pg, err := meetPostgres(ctx, cfg.URL)
	if err != nil {
		return nil, translate(err)
	}
	pool := pg.open(poolSize)
	db, err := openGORM(postgres.New(postgres.Config{Conn: newPool(pool)}))
	if err != nil {
		return nil, errors.Join(translate(err), pool.Close())
	}
	return &Store{writer: db, reader: db, postgres: pg}, nil
}

// meetPostgres reads the URL and connects once, as meet does.
func meetPostgres(ctx context.Context, url string) (*pgServer, error) {
	config, err := pgx.ParseConfig(url)
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		// The cause is not wrapped, because it would look like a network error.
		return nil, fmt.Errorf("database URL names a file that cannot be read: %s", file.Error())
	}
	if err != nil {
		// The parser's own message may quote the URL with its password.
		return nil, errors.New("database URL is not a valid postgres:// URL; special characters of a password must be " +
			"percent-encoded")
	}
	pg := &pgServer{config: config, own: config.RuntimeParams}
	config.RuntimeParams = maps.Clone(sessionDefaults)
	maps.Copy(config.RuntimeParams, pg.own)
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 3 * time.Second
	}
	if config.ValidateConnect == nil { // the URL accepts any of its hosts
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	return pg, pg.meet(ctx)
}

// refusesSettings reports that a connection was refused with a protocol
// violation, as PgBouncer does for startup parameters that it does not know.
func refusesSettings(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == "08P01"
}

// errReplica is returned if only read-only databases answer.
var errReplica = errors.New("no primary answers, only a read-only replica: name the primary, or all hosts separated " +
	"by commas, of which the primary is then used")

// refusals holds advice for operators about answers of a server, by SQLSTATE.
var refusals = map[string]string{
	"28P01": "the server refuses the password: correct it, with its special characters percent-encoded",
	"28000": "the server does not let the role in: make the role, or let it in from this machine in pg_hba.conf",
	"3D000": "the server has no such database: make it, or correct the name",
	"53300": "the server has no connection left: raise its max_connections or the role's limit, or use a pooler",
	"53100": "the server's disk is full",
	"42501": "the role may not do this: make it the owner of the database",
}

// parameterRefusals says what is wrong with a parameter of the URL, by SQLSTATE.
var parameterRefusals = map[string]string{
	"42704": "which the server does not know: leave it out", "55P02": "which cannot be set there: leave it out",
	"22023": "whose value the server refuses: correct it",
}

// explained adds advice to an error that does not end by waiting. It returns other errors unchanged.
func explained(err error) error {
	const refused = "the server's certificate does not count: %w: "
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf(refused+"name the file of the authority that signed it as sslrootcert in the database URL", unknown)
	}
	if host, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Errorf(refused+"name the host as it does, or have it issued for this host", host)
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return fmt.Errorf(refused+"renew it, and check this machine's clock", invalid)
	}
	if errors.Is(err, pgconn.ErrStandbyConnection) || errors.Is(err, pgconn.ErrReadOnlyConnection) {
		return errReplica
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refusals[refused.Code] != "" {
		return fmt.Errorf("%s: %w", refusals[refused.Code], withoutValues(err))
	}
	return err
}

// meet connects once to find out what kind of server answers. A pooler such as
// PgBouncer lends a server connection for one transaction only. Settings and prepared
// statements do not last there, so the store then uses none.
func (p *pgServer) meet(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, p.config)
	if refusesSettings(err) {
		p.pooled()
		conn, err = pgx.ConnectConfig(ctx, p.config)
		if refusesSettings(err) && len(p.own) > 0 {
			return fmt.Errorf("a pooler refuses a connection setting that the database URL names (%s): take it out, and set "+
				"it for the database's role, by ALTER ROLE",
				strings.Join(slices.Sorted(maps.Keys(p.own)), ", "))
		}
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && parameterRefusals[refused.Code] != "" {
		for _, name := range slices.Sorted(maps.Keys(p.own)) {
			if strings.Contains(strings.ToLower(refused.Message), strings.ToLower(name)) {
				return fmt.Errorf("the database URL has the parameter %s, %s: %w", name, parameterRefusals[refused.Code],
					withoutValues(err))
			}
		}
	}
	if err != nil {
		return explained(err)
	}
	defer conn.Close(ctx) //nolint:errcheck // only the answers count
	var source string
	var replica bool
	err = conn.QueryRow(ctx, `SELECT source, pg_is_in_recovery(), setting <> '0' OR current_setting('statement_timeout') <> '0'
		FROM pg_settings WHERE name = 'lock_timeout'`, pgx.QueryExecModeSimpleProtocol).Scan(&source, &replica, &p.limits)
	switch {
	case err != nil:
		return err
	case replica: // the URL requires a replica
		return errReplica
	case source != "client": // a pooler ignores the settings
		p.pooled()
	}
	return nil
}

// pooled changes the configuration for poolers that lend connections for a transaction. It keeps only the
// settings in the URL and the application's name, and uses unnamed statements.
func (p *pgServer) pooled() {
	p.config.RuntimeParams = map[string]string{"application_name": sessionDefaults["application_name"]}
	maps.Copy(p.config.RuntimeParams, p.own)
	p.config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
}

func (p *pgServer) isPooled() bool {
	return p.config.DefaultQueryExecMode == pgx.QueryExecModeCacheDescribe
}

// poolSize is the maximum number of connections of a process.
const poolSize = 20

// open returns a new pool of at most conns connections. Connections are renewed
// every half hour, to follow a failover or a rebalanced proxy.
func (p *pgServer) open(conns int) *sql.DB {
	config := *p.config
	config.StatementCacheCapacity = 128 // more than a connection uses; the default, 512, takes 20 kB per connection
	if !p.isPooled() {
		config.DescriptionCacheCapacity = 0 // not used
	}
	pool := sharing(stdlib.GetConnector(config, stdlib.OptionAfterConnect(resultsInUTC)), conns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	pool.SetConnMaxLifetime(30 * time.Minute)
	return pool
}

// withoutStatementTimeout is for migrations, whose statements may take long. The lock timeout stays, because a
// migration that waits for a reader would block every other query.
func (p *pgServer) withoutStatementTimeout() *pgServer {
	config := p.config.Copy()
	if _, set := config.RuntimeParams["statement_timeout"]; set {
		config.RuntimeParams["statement_timeout"] = "0"
	}
	return &pgServer{config: config}
}
