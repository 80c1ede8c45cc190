// Command skewed runs the gateway with another clock, for tests of wrong clocks. SKEW
// says how far it is ahead, such as 10m or -2m.
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
	ahead, err := time.ParseDuration(os.Getenv("SKEW"))
	if err != nil {
		return fmt.Errorf("SKEW: %w", err)
	}
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
