package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"agegate/internal/app"
	"agegate/internal/app/config"
	"agegate/internal/app/doctor"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

// operator is an open database with the services that operator commands use. It works while a server runs.
type operator struct {
	store   *store.Store
	tenants *tenant.Service
	sealer  *credential.Sealer
	actor   audit.Actor
	hooks   *webhook.Client
}

// commandLine returns the actor for the audit log: the user of the operating
// system who runs this command, if it is known.
func commandLine() audit.Actor {
	actor := audit.Actor{Kind: audit.KindCLI}
	if u, err := user.Current(); err == nil {
		actor.ID, actor.Name = strings.ToValidUTF8(u.Uid, "?"), strings.ToValidUTF8(u.Username, "?")
	}
	return actor
}

// advised adds to an error about a damaged database what to do.
func advised(err error) error {
	if advice := doctor.UnlessDamaged(err, ""); advice != "" {
		return fmt.Errorf("%w: %s", err, advice)
	}
	return err
}

// withDatabase opens and migrates the configured database and runs fn. required names variables that fn needs.
func (c *cli) withDatabase(ctx context.Context, fn func(*store.Store, config.Config) error, required ...string) error {
	cfg, err := c.loadExisting(required...)
	if err != nil {
		return err
	}
	db, err := openDatabase(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close()
	return advised(fn(db, cfg))
}

// withOperator runs fn on the configured database. required names variables that
// fn needs in addition to the secret key.
func (c *cli) withOperator(ctx context.Context, fn func(operator) error, required ...string) error {
	return c.withDatabase(ctx, func(db *store.Store, cfg config.Config) error {
		sealer, err := app.NewSealer(cfg)
		if err != nil {
			return err
		}
		rule := tenant.CallbackRule{AllowInsecure: cfg.AllowInsecureCallbacks}
		tenants := tenant.NewService(db, sealer, rule, rand.Reader, now)
		tenants.Margin = cfg.Margin
		return fn(operator{db, tenants, sealer, commandLine(), app.GuardedClient(cfg)})
	}, append(required, config.SecretKeyName)...)
}

// openDatabase opens the configured database and brings its schema up to date.
func openDatabase(ctx context.Context, cfg config.Config) (*store.Store, error) {
	db, err := store.Open(ctx, store.Config{URL: cfg.DatabaseURL, MigrationURL: cfg.MigrationURL, Now: now})
	if err != nil {
		return nil, fmt.Errorf("AGEGATE_DATABASE_URL: %w", advised(err))
	}
	if err := db.Migrate(ctx); err != nil {
		return nil, errors.Join(advised(err), db.Close())
	}
	return db, nil
}

// withTenant runs fn on the configured database for a command whose only argument is the ID of an existing tenant.
func (c *cli) withTenant(ctx context.Context, args []string, fn func(operator, tenant.Tenant) error) error {
	id, err := idOf("the ID", args[0], tenantsListed)
	if err != nil {
		return err
	}
	return c.withOperator(ctx, func(op operator) error {
		t, err := op.tenants.Tenant(ctx, id)
		if err != nil {
			return missing("tenant", err)
		}
		return fn(op, t)
	})
}

// warnOfKey warns if a secret is about to be sealed under another key than the database's. This is not an
// error: after the loss of a key, every tenant needs new secrets.
func (op operator) warnOfKey(cmd *cobra.Command) {
	if err := app.CheckSecretKey(cmd.Context(), op.tenants); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "Warning: %v. The gateway can use the new secret only under the key set now.\n", err)
	}
}

// warnOf warns of a tenant's webhook URL to which the gateway delivers nothing, and of a name that another has.
func (op operator) warnOf(cmd *cobra.Command, t tenant.Tenant) {
	if twin, _ := op.tenants.HasTwin(cmd.Context(), t); twin {
		fmt.Fprintln(cmd.ErrOrStderr(), "Warning: another tenant has this name.")
	}
	switch {
	case op.hooks.Unknown(cmd.Context(), t.WebhookURL):
		fmt.Fprintln(cmd.ErrOrStderr(), "Warning: DNS knows no host of the webhook URL's name: check its spelling.")
	case op.hooks.Refuses(t.WebhookURL):
		fmt.Fprintln(cmd.ErrOrStderr(), "Warning: the webhook URL is not a public address, so deliveries to it are refused: "+
			"name its network in AGEGATE_WEBHOOK_ALLOW_NETS.")
	}
}

// missing adds to a not-found error what was not found. Other errors are returned unchanged.
func missing(what string, err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return fmt.Errorf("%s not found", what)
	}
	return err
}

// confirm says what a command has done, unless that failed with err.
func confirm(cmd *cobra.Command, err error, format string, args ...any) error {
	if err == nil {
		fmt.Fprintf(cmd.OutOrStdout(), format, args...)
	}
	return err
}

// now is the program's clock: UTC in whole microseconds, the precision that both databases store.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Where operators find the IDs.
const tenantsListed, sessionsListed = "agegate tenant list prints it", "the dashboard shows it, and the shop keeps it"

// idOf reads an ID, and names in the error its source and where it is found.
func idOf(source, text, listed string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, fmt.Errorf("%s must be a UUID: %s", source, listed)
	}
	return id, nil
}

// idCommand returns a command whose only argument is the ID of what it is about, such as "remove ID".
func idCommand(use, short, long string, run func(cmd *cobra.Command, id uuid.UUID) error) *cobra.Command {
	_, name, _ := strings.Cut(use, " ")
	return &cobra.Command{
		Use: use, Short: short, Long: long, Args: exactlyOne(name),
		RunE: func(cmd *cobra.Command, args []string) error {
			listed := cmd.Parent().CommandPath() + " list prints it"
			if name == "SESSION_ID" {
				listed = sessionsListed
			}
			id, err := idOf("the ID", args[0], listed)
			if err != nil {
				return err
			}
			return run(cmd, id)
		},
	}
}

// readFile reads at most limit bytes of a file that the operator names. Its errors name the file by what.
func readFile(path, what string, limit int64) (data []byte, err error) {
	file, err := os.Open(path) //nolint:gosec // a file that the operator names
	if err == nil {
		defer file.Close() //nolint:errcheck // it was only read
		data, err = io.ReadAll(io.LimitReader(file, limit))
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", what, errors.Unwrap(err))
	}
	return data, nil
}

// exactlyOne requires one positional argument and names it.
func exactlyOne(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("give exactly one %s", name)
		}
		return nil
	}
}
