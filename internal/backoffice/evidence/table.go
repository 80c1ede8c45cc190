package evidence

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"unicode/utf8"

	"agegate/internal/backoffice/insight"
)

// Table is the rows of a CSV file, its columns first.
type Table [][]string

// Add adds a row, in which spreadsheets interpret no cell as a formula.
func (t *Table) Add(cells ...string) {
	for i, c := range cells {
		cells[i] = plain(c)
	}
	*t = append(*t, cells)
}

// CSV returns the table as comma-separated values.
func (t *Table) CSV() []byte {
	var out bytes.Buffer
	_ = csv.NewWriter(&out).WriteAll(*t) // a buffer takes everything
	return out.Bytes()
}

// plain returns a text in a form that spreadsheets do not interpret as a formula. Numbers are not changed.
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

// Count returns a count, or few if it is small.
func Count(n int64) string {
	if n < MinCount {
		return few
	}
	return strconv.FormatInt(n, 10)
}

// Percent returns a share from 0 to 1 as a number of per cent.
func Percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) }

// Shown returns a share with its bounds, in per cent.
func Shown(r insight.Rate) string { return Interval(Percent(r.Share), Percent(r.Low), Percent(r.High)) }

// Interval returns a figure with its bounds.
func Interval(value, low, high string) string { return value + " (" + low + "–" + high + ")" }
