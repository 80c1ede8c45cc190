// Command mrzmodel trains the network that recognises the characters of OCR-B
// (internal/check/document/glyph) on rendered characters, and writes its weights.
// The same seed and number of threads give the same weights on the same kind of
// processor.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"agegate/internal/check/document/glyph"
)

// training holds the settings of a training.
type training struct {
	seed    uint64
	steps   int
	batch   int
	threads int
	rate    float64 // highest learning rate
	every   int     // steps between reports
}

func main() {
	t := training{seed: 1, batch: 64, threads: 2, rate: 2e-3, every: 500}
	out := flag.String("out", "internal/check/document/glyph/weights.json", "file for the weights")
	flag.IntVar(&t.steps, "steps", 8000, "number of batches")
	flag.Parse()
	if err := run(t, *out); err != nil {
		fmt.Fprintln(os.Stderr, "mrzmodel:", err)
		os.Exit(1)
	}
}

func run(t training, out string) error {
	font, err := openFont()
	if err != nil {
		return err
	}
	started := time.Now()
	weights := t.fit(font, func(step int, loss float64) {
		fmt.Printf("step %d of %d, loss %.4f, %s\n", step, t.steps, loss, time.Since(started).Round(time.Second))
	})
	right, junk := judge(weights, font, t.seed+1)
	fmt.Printf("of cells that it was not trained on: %.2f %% of characters right, %.2f %% of junk\n", 100*right, 100*junk)
	origin := fmt.Sprintf("make mrz-model: %d batches of %d cells rendered from %s (Debian fonts-ocr-b), seed %d; %.2f "+
		"%% of the characters of other rendered cells right", t.steps, t.batch, fontName, t.seed, 100*right)
	return write(out, origin, weights)
}

// write writes the weights with four significant digits, one group per line.
func write(path, origin string, w *glyph.Weights) error {
	var text strings.Builder
	quoted, err := json.Marshal(origin)
	if err != nil {
		return err
	}
	fmt.Fprintf(&text, "{\"origin\": %s,\n\"weights\": [", quoted)
	for i, group := range w.Groups() {
		if i > 0 {
			text.WriteString(",")
		}
		text.WriteString("\n[")
		for j, v := range group {
			if j > 0 {
				text.WriteString(",")
			}
			text.WriteString(strconv.FormatFloat(float64(v), 'g', 4, 32))
		}
		text.WriteString("]")
	}
	text.WriteString("\n]}\n")
	return os.WriteFile(path, []byte(text.String()), 0o644) //nolint:gosec // a file of the repository
}
