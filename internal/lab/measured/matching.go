package measured

import (
	_ "embed"
	"encoding/json"

	"agegate/internal/backoffice/evidence"
)

//go:embed matching.json
var matchingText []byte

// Matching is how often two strangers are taken for the same person when the portrait
// of a document is compared with a face (make face-match), as published with this
// release.
type Matching struct {
	Command   string  `json:"command"`
	Source    string  `json:"source"`    // where the figures are published
	Published string  `json:"published"` // a date
	Rows      []Match `json:"rows"`
}

// Match holds the shares of pairs of strangers that match, in per cent with 95 %
// bounds: one for two pictures, and one for a picture and a small, soft and pale
// portrait.
type Match struct {
	Collection string     `json:"collection"`
	Strangers  string     `json:"strangers"` // of one sex
	Plain      [3]float64 `json:"plain"`     // share, lower bound, upper bound
	Poor       [3]float64 `json:"poor"`
}

// ShippedMatching returns the published figures.
func ShippedMatching() (m Matching, err error) {
	err = json.Unmarshal(matchingText, &m)
	return m, err
}

// table returns matching.csv.
func (m Matching) table() evidence.Table {
	t := evidence.Table{{"collection", "strangers_of_one_sex", "portrait", "matched_percent", "low_95_percent",
		"high_95_percent", "published", "source"}}
	for _, row := range m.Rows {
		add := func(portrait string, share [3]float64) {
			t.Add(row.Collection, row.Strangers, portrait, hundredth(share[0]), hundredth(share[1]), hundredth(share[2]),
				m.Published, m.Source)
		}
		add("a picture", row.Plain)
		add("small, soft and pale", row.Poor)
	}
	return t
}

// statements returns the rows of the statements, and when they were published.
func (m Matching) statements() string {
	var rows [][]string
	for _, row := range m.Rows {
		shown := row.Shown()
		rows = append(rows, []string{row.Collection, row.Strangers, shown[0], shown[1]})
	}
	return defined("matching", rows...) + "{{define \"matching-published\"}}" + m.Published + "{{end}}\n"
}

// Shown is a row of figures as text.
func (m Match) Shown() [2]string {
	text := func(s [3]float64) string {
		return evidence.Interval(hundredth(s[0]), hundredth(s[1]), hundredth(s[2]))
	}
	return [2]string{text(m.Plain), text(m.Poor)}
}
