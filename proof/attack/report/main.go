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

	"agegate/internal/check/inference"
	"agegate/internal/check/vision/visiontest"
	"agegate/proof/attack"
)

func main() {
	n := flag.Int("n", 30, "presentations of each kind")
	large := flag.Int("large", 150, "presentations of recordings, screens, prints and borrowed heads, each")
	only := flag.String("only", "", "play only the kinds whose name contains this")
	kind := flag.String("kind", "", "play only faces, or only documents")
	limit := flag.Duration("time", 40*time.Minute, "after which no more presentations are begun")
	record := flag.String("record", "", "write the results into this file, which packs of evidence read; not with -only")
	flag.Parse()
	if *record != "" && *only != "" {
		fmt.Fprintln(os.Stderr, "attack: -record needs all kinds: leave -only out")
		os.Exit(2)
	}
	if _, err := os.Stat(*record); *record != "" && err != nil {
		fmt.Fprintln(os.Stderr, "attack: -record needs a file that exists: it says what form of attack each kind is")
		os.Exit(2)
	}
	met, err := run(context.Background(), *kind, *only, *record, *n, *large, time.Now().Add(*limit))
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(2)
	}
	if !met {
		fmt.Fprintln(os.Stderr, "attack: a goal was missed")
		os.Exit(1)
	}
}

func run(ctx context.Context, kind, only, record string, n, large int, deadline time.Time) (met bool, err error) {
	pool, err := inference.Open(filepath.Join(visiontest.Root(), "models"), runtime.NumCPU())
	if err != nil {
		return false, err
	}
	met = true
	if kind != "documents" {
		rows, err := attack.Range(ctx, pool, only, n, large, deadline, progress("presentations"))
		if err != nil {
			return false, err
		}
		if err := attack.Write(os.Stdout, rows); err != nil {
			return false, err
		}
		met = attack.Met(rows)
		if record != "" {
			if err := attack.Record(record, "camera", rows, time.Now()); err != nil {
				return false, err
			}
		}
	}
	if kind == "faces" {
		return met, nil
	}
	shown, err := attack.DocumentRange(ctx, pool, only, n, deadline, progress("documents"))
	if err != nil {
		return false, err
	}
	if record != "" {
		if err := attack.Record(record, "document", attack.Rows(shown), time.Now()); err != nil {
			return false, err
		}
	}
	return met && attack.DocumentsMet(shown), attack.WriteDocuments(os.Stdout, shown)
}

// progress prints the progress on standard error.
func progress(what string) func(done, total int) {
	return func(done, total int) {
		if done%20 == 0 || done == total {
			fmt.Fprintf(os.Stderr, "\r%d of %d %s", done, total, what)
		}
		if done == total {
			fmt.Fprintln(os.Stderr)
		}
	}
}
