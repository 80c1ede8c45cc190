// Command skewed runs the gateway with a clock that is ten minutes ahead, for
// tests of wrong clocks.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"agegate/internal/app"
	"agegate/internal/app/config"
)

const ahead = 10 * time.Minute

func main() {
	time.Local = time.UTC
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := serve(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "skewed:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) (err error) {
	cfg, err := config.Load(os.LookupEnv, config.SecretKeyName)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: cfg.LogLevel}))
	now := func() time.Time { return time.Now().Add(ahead).UTC().Truncate(time.Microsecond) }
	gateway, err := app.New(ctx, cfg, log, now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gateway.Close()) }()
	return gateway.Run(ctx)
}
