// Package measured keeps what was measured of the age check, and writes it as the
// tables and rows that packs of evidence include. What is about a release's checks is
// compiled into agegate; what is about an estimator lies in its models directory.
package measured

import (
	"path/filepath"
	"strconv"
	"strings"

	"agegate/internal/backoffice/insight"

	"gonum.org/v1/gonum/stat/distuv"
)

// Release returns the files about the checks of this release, by their names in the
// directory that evidence embeds.
func Release() (map[string][]byte, error) {
	attacks, err := ShippedAttacks()
	if err != nil {
		return nil, err
	}
	matching, err := ShippedMatching()
	if err != nil {
		return nil, err
	}
	pad, injection := attacks.tables()
	matched := matching.table()
	return map[string][]byte{
		"pad.csv": pad.CSV(), "injection.csv": injection.CSV(), "matching.csv": matched.CSV(),
		"rows.md": []byte(attacks.statements() + matching.statements()),
	}, nil
}

// Beside returns the path of another file in the directory of the first.
func Beside(path, name string) string { return filepath.Join(filepath.Dir(path), name) }

// defined returns a template with rows of a table in Markdown.
func defined(name string, rows ...[]string) string {
	var out strings.Builder
	out.WriteString("{{define \"" + name + "\"}}")
	for _, cells := range rows {
		out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	out.WriteString("{{end}}\n")
	return out.String()
}

// exact returns a share with its interval by Clopper and Pearson. The interval is
// never too narrow, which suits attack presentations. of must not be 0.
func exact(n, of int) insight.Rate {
	errors, total := float64(n), float64(of)
	r := insight.Rate{N: int64(n), Of: int64(of), Share: errors / total, High: 1}
	if n > 0 {
		r.Low = distuv.Beta{Alpha: errors, Beta: total - errors + 1}.Quantile(0.025)
	}
	if n < of {
		r.High = distuv.Beta{Alpha: errors + 1, Beta: total - errors}.Quantile(0.975)
	}
	return r
}

func hundredth(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
