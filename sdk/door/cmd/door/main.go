// Command door keeps visitors without a confirmed age out of a site:
//
//	door         serve
//	door check   ask the gateway whether the configuration works
//	door key     print a new key for DOOR_KEYS
//
// The configuration is in variables, which docs/guides/door.md lists.
package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"github.com/agegate/agegate/sdk/door"
)

// maxConnections is for each listener. Further ones wait.
const maxConnections = 10_000

var version = "development" // set by the build

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "door:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	command := "serve"
	if len(args) > 0 {
		command = args[0]
	}
	switch command {
	case "key":
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails on the systems that Go supports
		fmt.Println(base64.StdEncoding.EncodeToString(key))
		return nil
	case "version":
		fmt.Println(version)
		return nil
	case "serve", "check":
	default:
		return errors.New("use door, door check, door key or door version")
	}
	cfg, err := door.Load(os.Getenv, os.Environ()...)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{ReplaceAttr: withoutState}))
	slog.SetDefault(log) // the provider's library logs there
	d, err := door.New(cfg, log, time.Now)
	if err != nil {
		return err
	}
	for _, line := range cfg.Effect() {
		log.Info(line)
	}
	if command == "check" {
		if err := d.Check(ctx); err != nil {
			return err
		}
		fmt.Println("The door and the gateway work together.")
		return nil
	}
	return serve(ctx, d, cfg)
}

// withoutState keeps what clients of the provider send out of the log.
func withoutState(_ []string, a slog.Attr) slog.Attr {
	if a.Key == "state" {
		return slog.Attr{}
	}
	return a
}

func serve(ctx context.Context, d *door.Door, cfg *door.Config) error {
	group, ctx := errgroup.WithContext(ctx)
	listen := func(address string, handler http.Handler) {
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
			WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
		group.Go(func() error {
			listener, err := net.Listen("tcp", address)
			if err != nil {
				return err
			}
			if err := server.Serve(netutil.LimitListener(listener, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
		group.Go(func() error {
			<-ctx.Done()
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			_ = server.Shutdown(ending) // what is left is cut off
			return nil
		})
	}
	listen(cfg.Listen, d)
	if cfg.MetricsListen != "" {
		listen(cfg.MetricsListen, d.Metrics())
	}
	slog.Info("listening", slog.String("address", cfg.Listen))
	return group.Wait()
}
