package evidence

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"unicode/utf8"
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
		cells[i] = Plain(c)
	}
	t.rows = append(t.rows, cells)
}

// file returns the table as a file with comma-separated values.
func (t *table) file() file {
	var out bytes.Buffer
	_ = csv.NewWriter(&out).WriteAll(t.rows) // a buffer takes everything
	return file{t.name, out.Bytes()}
}

// Plain returns a text in a form that spreadsheets do not interpret as a formula.
// Numbers are not changed.
func Plain(s string) string {
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
