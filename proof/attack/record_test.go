package attack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agegate/internal/lab/measured"
)

// everyKind returns a row for each kind of camera check.
func everyKind() []Row {
	_, rows := everySpecies("")
	for i := range rows {
		rows[i].N, rows[i].Accepted = 40, 39
	}
	return rows
}

// everyDocument does so for the document check.
func everyDocument() (rows []Row) {
	for _, s := range documentPresentations {
		rows = append(rows, Row{Species: s.name, BonaFide: s.bonaFide, Beyond: s.beyond, N: 40, Accepted: 39})
	}
	return rows
}

// TestRecord: every kind of the ranges is in the file that evidence ships, and what
// is measured replaces its numbers alone.
func TestRecord(t *testing.T) {
	shipped, err := measured.ShippedAttacks()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(shipped)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "attack.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	on := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := Record(path, "camera", everyKind(), on); err != nil {
		t.Fatal(err)
	}
	if err := Record(path, "document", everyDocument(), on.AddDate(0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	var got measured.Attacks
	if text, err = os.ReadFile(path); err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil || len(got.Rows) != len(shipped.Rows) || got.CameraPublished != "2031-02-03" ||
		got.DocumentPublished != "2031-02-04" || got.Source != shipped.Source {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, row := range got.Rows {
		want := shipped.Rows[i]
		want.Presentations, want.Errors = 40, 39
		if want.Form == "bona fide" {
			want.Errors = 1
		}
		if row != want {
			t.Errorf("%+v, want %+v", row, want)
		}
	}
	for what, rows := range map[string][]Row{
		"a kind without its form": append(everyKind(), Row{Species: "a mask of silk", N: 1}),
		"a kind left out":         everyKind()[1:],
		"a kind without a presentation": func() []Row {
			rows := everyKind()
			rows[3].N = 0
			return rows
		}(),
	} {
		if err := Record(path, "camera", rows, on); err == nil {
			t.Errorf("%s is recorded", what)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(text) {
		t.Error("a refused record has changed the file")
	}
}

// TestRecordKeepsTheForm: the file is written as it is committed, so that a run
// without news changes nothing.
func TestRecordKeepsTheForm(t *testing.T) {
	shipped, err := measured.ShippedAttacks()
	if err != nil {
		t.Fatal(err)
	}
	made, err := encode(shipped)
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile(filepath.Join("..", "..", "internal", "lab", "measured", "attack.json"))
	if err != nil || string(made) != string(committed) {
		t.Errorf("the committed file has another form: %v", err)
	}
}
