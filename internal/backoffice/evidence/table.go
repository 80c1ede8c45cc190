package evidence

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/stat/distuv"
)

// table is a CSV file that is being written.
type table struct {
	name string
	rows [][]string
}

func newTable(name string, columns ...string) *table {
	return &table{name: name, rows: [][]string{columns}}
}

func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = plain(c)
	}
	t.rows = append(t.rows, cells)
}

// file returns the table as a file with comma-separated values.
func (t *table) file() (file, error) {
	var out bytes.Buffer
	err := csv.NewWriter(&out).WriteAll(t.rows)
	return file{t.name, out.Bytes()}, err
}

// plain returns a text in a form that spreadsheets do not interpret as a formula.
// Numbers are not changed.
func plain(s string) string {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	if first, _ := utf8.DecodeRuneInString(s); s != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + s
	}
	return s
}

// few replaces a count below MinCount.
const few = "under 20"

// count returns a count, or few if it is small.
func count(n int64) string {
	if n < MinCount {
		return few
	}
	return strconv.FormatInt(n, 10)
}

// share is a count out of a total with its 95 % interval.
type share struct {
	n, of     int
	low, high float64
}

// percent returns the share and its bounds in per cent.
func (s share) percent() (rate, low, high string) {
	return tenth(100 * float64(s.n) / float64(s.of)), tenth(100 * s.low), tenth(100 * s.high)
}

// tenth formats a number with one decimal, and never as negative zero.
func tenth(v float64) string { return strconv.FormatFloat(math.Round(10*v)/10+0, 'f', 1, 64) }

// exact returns a share with its interval by Clopper and Pearson. The interval is
// never too narrow, which suits attack presentations. of must not be 0.
func exact(n, of int) share {
	errors, total := float64(n), float64(of)
	s := share{n: n, of: of, high: 1}
	if n > 0 {
		s.low = distuv.Beta{Alpha: errors, Beta: total - errors + 1}.Quantile(0.025)
	}
	if n < of {
		s.high = distuv.Beta{Alpha: errors + 1, Beta: total - errors}.Quantile(0.975)
	}
	return s
}

// wilson returns a share with E. B. Wilson's score interval, like the published
// measurements. of must not be 0.
func wilson(n, of int) share {
	z := distuv.UnitNormal.Quantile(0.975)
	total, p := float64(of), float64(n)/float64(of)
	centre := (p + z*z/(2*total)) / (1 + z*z/total)
	half := z / (1 + z*z/total) * math.Sqrt(p*(1-p)/total+z*z/(4*total*total))
	return share{n: n, of: of, low: max(0, centre-half), high: min(1, centre+half)}
}
