package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"agegate/internal/config"
	"agegate/internal/signing"
	"agegate/internal/store"
	"agegate/internal/tenant"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

// operator is an open database with the services that operator commands use.
// It works beside a running server.
type operator struct {
	store   *store.Store
	tenants *tenant.Service
}

// withOperator runs fn over the configured database, its schema up to date.
func (c *cli) withOperator(ctx context.Context, fn func(operator) error) error {
	cfg, err := c.load(config.SecretKeyName)
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, store.Config{URL: cfg.DatabaseURL})
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	sealer, err := signing.NewSealer(cfg.SecretKey, rand.Reader)
	if err != nil {
		return err
	}
	rule := tenant.CallbackRule{AllowInsecure: cfg.AllowInsecureCallbacks}
	return fn(operator{db, tenant.NewService(db, sealer, rule, rand.Reader, now)})
}

// now is the clock of the whole program: UTC, in the microseconds that both
// databases keep.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// printJSON writes one JSON object, indented for people.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// idArgument reads a command's only argument as an ID.
func idArgument(args []string) (uuid.UUID, error) {
	id, err := uuid.Parse(args[0])
	if err != nil {
		return uuid.Nil, errors.New("the ID must be a UUID")
	}
	return id, nil
}

// exactlyOneID requires one positional argument and names it.
func exactlyOneID(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("give exactly one %s", name)
		}
		return nil
	}
}
