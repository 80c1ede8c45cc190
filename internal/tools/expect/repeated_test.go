package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"agegate/internal/lab/measured"
)

const (
	root      = "../../../"
	camera    = "docs/measurements.md"
	documents = "docs/document-measurements.md"
	matching  = "internal/lab/measured/matching.json"
	attacks   = "internal/lab/measured/attack.json"
)

// place is where figures stand: a file, and a pattern with a group for each of them.
type place struct{ file, pattern string }

// repeated lists the figures that stand in more than one place, their source first.
// The figures of others are those of the source, rounded to as many decimals. The part
// that `make generate` writes of docs/expect.md is not listed.
var repeated = [][]place{
	{{camera, `\| \*\*as it is\*\* \|.*→ (\S+) \((\S+)–(\S+)\) \|.*→ (\S+) \((\S+)–(\S+)\) \|`},
		{"README.md", `\| 13- to 17-year-olds \| (\S+) % \((\S+)–(\S+)\) \| (\S+) % \((\S+)–(\S+)\) \|`}},
	{{camera, `\n\| glasses, beard and wrinkles, all drawn on \|.*→ (\S+) \(.*\) \|.*→ (\S+) \(.*\) \|`},
		{"README.md", `\| … with glasses, wrinkles and a beard drawn on \| (\S+) % \| (\S+) % \|`}},
	{{byGroup, `UTKFace, 25–35: (\S+) \((\S+)–(\S+)\)`},
		{camera, `\| UTKFace, held out .*?\| .*?\| .*?\| (\S+) \((\S+)–(\S+)\) \|`},
		{"README.md", `\| 25- to 35-year-olds \| (\S+) % \((\S+)–(\S+)\) \|`}},
	{{byGroup, `All-Age-Faces, 25–35: (\S+) \((\S+)–(\S+)\)`},
		{camera, `\| All-Age-Faces, held out .*?\| .*?\| .*?\| (\S+) \((\S+)–(\S+)\) \|`},
		{"README.md", `\| 25- to 35-year-olds \| .*? \| (\S+) % \((\S+)–(\S+)\) \|`}},
	{{byGroup, `(?s)UTKFace, female, 25–35: (\S+) .*UTKFace, male, 25–35: (\S+) `},
		{"README.md", `\| … women, men \| (\S+) %, (\S+) % \|`}},
	{{byGroup, `(?s)All-Age-Faces, female, 25–35: (\S+) .*All-Age-Faces, male, 25–35: (\S+) `},
		{"README.md", `\| … women, men \| .*? \| (\S+) %, (\S+) % \|`}},
	{{attacks, `screen, in the mode without head turns: (\d+) of (\d+)`},
		{camera, `\| Screen, without head turns \| (\d+) of (\d+) \|`},
		{"docs/expect.md", `passed at most (\d+) times in (\d+) of a kind`}},
	{{attacks, `screen, an obeying face live on it: (\d+) of (\d+)`},
		{camera, `a screen that shows a live face obeying the prompts \| (\d+) of (\d+) \|`},
		{"README.md", `live, obeying face accepted \| (\d+) of (\d+);`},
		{"docs/expect.md", `a live face that obeys (\d+) times in (\d+)\.`}},
	{{matching, `UTKFace: all: (\S+) `},
		{"README.md", `of strangers of one sex, (\S+) % match`},
		{"docs/document.md", `of strangers of one sex (\S+) % match`},
		{"docs/decisions.md", `a portrait (\S+) % of strangers of one sex`}},
	{{matching, `(?s)UTKFace, other parts: Asian, female, 18 to 26: (\S+) .*?Asian, male, 18 to 26: (\S+) .*` +
		`Black, female, 18 to 26: (\S+) .*?Black, male, 18 to 26: (\S+) `},
		{"docs/document.md", `Asian women of 18 to 26 (\S+) % and of two men (\S+) %, of two Black ones (\S+) and (\S+) %`}},
	{{matching, `(?s)UTKFace, other parts: Asian, male, 18 to 26: (\S+) .*Black, male, 18 to 26: (\S+) `},
		{"README.md", `of two Asian men of 18 to 26 (\S+) %, of two Black ones (\S+) %\.`},
		{"CHANGELOG.md", `of young Asian men at most (\S+) %`}},
	{{camera, `status lookups a second of 16 clients \| – \| (\S+) \|`},
		{"README.md", `Status lookups and live creations a second.*\| (\S+) and`},
		{"docs/scale.md", `two cores by \S+ and (\S+) a second`}},
	{{camera, `creations a second of 16 clients of one tenant \| .*?; (\S+) and`},
		{"README.md", `Status lookups and live creations a second.* and (\S+) \|`},
		{"docs/scale.md", `two cores by (\S+) and \S+ a second`}},
	{{camera, `the webhook's POST it takes .*\(p99 (\S+)\) on PostgreSQL`},
		{"README.md", `the webhook's POST, p99, PostgreSQL \| (\S+) ms \|`},
		{"proof/notes/speed.md", `the webhook's POST, p50 / p99 \|.*/ (\S+) ms \|`}},
	{{camera, `Later, alone on a machine(?s:.*)\*\*half of the thirty had their result within (\S+) s\*\*`},
		{"CHANGELOG.md", `half of thirty people at the same time have their result within (\S+) s`}},
	{{camera, `and \*\*is met as a share: (\S+) of the time\*\*`},
		{"CHANGELOG.md", `A check costs (\S+) of the processor time`}},
	{{documents, `\| (\d+) misbehaviours of wallets over HTTP, (\d+) of them with a PID`},
		{"docs/wallets.md", `(\d+) misbehaviours of wallets and strangers, (\d+) of them with a PID`}},
}

// TestRepeated: what stands in two places is the same figure.
func TestRepeated(t *testing.T) {
	texts := map[string]string{byGroup: groupLines(t), matching: matchingLines(t), attacks: attackLines(t)}
	find := func(p place) []string {
		if _, known := texts[p.file]; !known {
			texts[p.file] = string(contents(t, p.file))
		}
		found := regexp.MustCompile(p.pattern).FindStringSubmatch(texts[p.file])
		if found == nil {
			t.Errorf("%s has nothing like %s", p.file, p.pattern)
			return nil
		}
		return found[1:]
	}
	for _, figure := range repeated {
		source := find(figure[0])
		for _, other := range figure[1:] {
			for i, shown := range find(other) {
				if i < len(source) && !rounded(source[i], shown) {
					t.Errorf("%s says %s, %s %s (%s)", other.file, shown, figure[0].file, source[i], other.pattern)
				}
			}
		}
	}
	found := 0
	strangers := regexp.MustCompile(`\n\| ((?:UTKFace|All-Age-Faces)(?:, other parts)?: [^|]+) \| ([^|]+) \| ([^|]+) \|`)
	for _, row := range strangers.FindAllStringSubmatch(texts[documents], -1) {
		if found++; !strings.Contains(texts[matching], row[1]+": "+row[2]+": "+row[3]+"\n") {
			t.Errorf("%s says %s and %s of %s, %s does not", documents, row[2], row[3], row[1], matching)
		}
	}
	if found < 30 {
		t.Errorf("%d figures in tables", found)
	}
}

// rounded reports whether a figure is another to as many decimals as it shows.
func rounded(source, shown string) bool {
	number := func(text string) (value float64, decimals int) {
		text = strings.ReplaceAll(text, ",", "")
		_, after, _ := strings.Cut(text, ".")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return -1, 0
		}
		return value, len(after)
	}
	exact, _ := number(source)
	value, decimals := number(shown)
	return exact >= 0 && strconv.FormatFloat(exact, 'f', decimals, 64) == strconv.FormatFloat(value, 'f', decimals, 64)
}

func contents(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(root + file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// groupLines returns the shares that pass, in per cent, a line for each group and range.
func groupLines(t *testing.T) string {
	t.Helper()
	var f measured.Fairness
	if err := json.Unmarshal(contents(t, byGroup), &f); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, c := range f.Collections {
		for _, l := range lines(c) {
			name := c.Name
			for _, part := range []string{l.group, l.sex} {
				if part != "" {
					name += ", " + part
				}
			}
			for _, b := range []band{minors, adults} {
				if x, ok := cell(c, b, l.sex, l.group); ok {
					r := pass(x)
					fmt.Fprintf(&out, "%s, %d–%d: %.1f (%.1f–%.1f) of %d\n", name, b.from, b.to,
						100*r.Share, 100*r.Low, 100*r.High, x.Count)
				}
			}
		}
	}
	return out.String()
}

func matchingLines(t *testing.T) string {
	t.Helper()
	var f struct {
		Rows []struct {
			Collection, Strangers string
			Plain, Poor           [3]float64
		}
	}
	if err := json.Unmarshal(contents(t, matching), &f); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, r := range f.Rows {
		fmt.Fprintf(&out, "%s: %s: %.2f (%.2f–%.2f): %.2f (%.2f–%.2f)\n", r.Collection, r.Strangers,
			r.Plain[0], r.Plain[1], r.Plain[2], r.Poor[0], r.Poor[1], r.Poor[2])
	}
	return out.String()
}

func attackLines(t *testing.T) string {
	t.Helper()
	a, err := measured.ShippedAttacks()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, row := range a.Rows {
		fmt.Fprintf(&out, "%s: %d of %d\n", row.Species, row.Errors, row.Presentations)
	}
	return out.String()
}
