// Command report renders documents, reads them and prints how many are read, with
// the marks; it exits with 1 if one is missed. It also looks at pictures without
// a machine-readable zone: rendered ones, and those in a directory.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agegate/internal/check/document/reader"
	"agegate/internal/lab/accuracy/specimen"
	"agegate/internal/lab/picture"
	"agegate/proof/documents"
)

func main() {
	var o options
	flag.StringVar(&o.write, "write", "", "only write the first picture of each document into this directory, named for "+
		"`agegate-lab document eval`")
	flag.StringVar(&o.faces, "faces", "", "directory of pictures without a zone, such as faces")
	flag.Uint64Var(&o.seed, "seed", 2026, "of the set; others than those that the reader was developed on show more")
	flag.IntVar(&o.count, "count", 1, "documents for each format, ease and eighth of the circle")
	flag.IntVar(&o.others, "others", 60, "rendered pictures without a zone")
	flag.IntVar(&o.hidden, "hidden", 35, "documents of which a part is hidden, each in every way")
	flag.DurationVar(&o.limit, "time", time.Hour, "after which no more documents are begun")
	flag.Parse()
	met, err := run(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "documents:", err)
		os.Exit(2)
	}
	if !met {
		fmt.Fprintln(os.Stderr, "documents: a mark was missed")
		os.Exit(1)
	}
}

type options struct {
	write, faces  string
	seed          uint64
	count, others int
	hidden        int
	limit         time.Duration
}

func run(ctx context.Context, o options) (met bool, err error) {
	now := time.Now()
	set := documents.Set(o.seed, o.count, now)
	if o.write != "" {
		return true, write(o.write, set)
	}
	zones, err := reader.New()
	if err != nil {
		return false, err
	}
	limited, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	outcomes, err := documents.Play(limited, zones, set, now, show("documents"))
	if err != nil {
		return false, err
	}
	var negatives []documents.Negatives
	rendered, err := documents.PlayOthers(zones, o.others, o.seed, now, show("pictures without a zone"))
	if err != nil {
		return false, err
	}
	negatives = append(negatives, rendered)
	if o.faces != "" {
		faces, err := files(zones, o.faces, now)
		if err != nil {
			return false, err
		}
		negatives = append(negatives, faces)
	}
	hidden, err := documents.PlayHidden(limited, zones, documents.HiddenSet(o.seed, o.hidden, now), now,
		show("captures with a hidden part"))
	if err != nil {
		return false, err
	}
	met = documents.Write(os.Stdout, outcomes, negatives)
	return documents.WriteHidden(os.Stdout, hidden) && met, nil
}

// show prints progress on standard error.
func show(what string) func(done, total int) {
	return func(done, total int) {
		if done%20 == 0 || done == total {
			fmt.Fprintf(os.Stderr, "\r%d of %d %s ", done, total, what)
		}
		if done == total {
			fmt.Fprintln(os.Stderr)
		}
	}
}

func write(dir string, set []documents.Document) error {
	r, err := documents.NewRenderer()
	if err != nil {
		return err
	}
	for i, d := range set {
		data, err := r.Frame(d, 0)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, d.Name(0)), data, 0o600); err != nil {
			return err
		}
		show("pictures written")(i+1, len(set))
	}
	return nil
}

// files runs the reader on the pictures of a directory as if they were frames.
func files(zones *reader.Reader, dir string, now time.Time) (documents.Negatives, error) {
	paths, err := specimen.Files(dir)
	if err != nil {
		return documents.Negatives{}, err
	}
	n := documents.Negatives{Kind: "of the given directory"}
	for i, path := range paths {
		img, err := picture.Open(path)
		if err != nil {
			return n, err
		}
		n.Looked++
		if picture.Zone(zones, img, now).Valid {
			n.Accepted++
		}
		show("pictures of the directory")(i+1, len(paths))
	}
	return n, nil
}
