// Command report plays the attack range and prints its table. It exits with 1
// when a goal is missed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"agegate/internal/inference"
	"agegate/internal/proof/attack"
	"agegate/internal/vision/visiontest"
)

func main() {
	n := flag.Int("n", 30, "presentations of each kind")
	limit := flag.Duration("time", 15*time.Minute, "after which no more presentations are begun")
	flag.Parse()
	met, err := run(context.Background(), *n, time.Now().Add(*limit))
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(2)
	}
	if !met {
		fmt.Fprintln(os.Stderr, "attack: a goal was missed")
		os.Exit(1)
	}
}

func run(ctx context.Context, n int, deadline time.Time) (met bool, err error) {
	pool, err := inference.Open(filepath.Join(visiontest.Root(), "models"), runtime.NumCPU())
	if err != nil {
		return false, err
	}
	rows, err := attack.Range(ctx, pool, n, deadline, func(done, total int) {
		if done%20 == 0 || done == total {
			fmt.Fprintf(os.Stderr, "\r%d of %d presentations", done, total)
		}
	})
	fmt.Fprintln(os.Stderr)
	if err != nil {
		return false, err
	}
	return attack.Met(rows), attack.Write(os.Stdout, rows)
}
