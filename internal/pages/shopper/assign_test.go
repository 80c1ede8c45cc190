package shopper

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestAssign: a row's waiting checks are written as the tenant's letter, in the
// order of their arrival; a lower-case letter is a lost connection.
func TestAssign(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		held    string // a letter for each slot that is held
		waiting string
		slots   int
		want    []int
	}{
		{"nobody waits", "AB", "", 4, []int{}},
		{"free slots", "A", "AB", 4, []int{0, 0}},
		{"in the order of arrival", "", "AAAAA", 3, []int{0, 0, 0, 1, 2}},
		{"the tenant with the fewest first", "AA", "AB", 3, []int{1, 0}},
		{"turn by turn", "", "AAABB", 4, []int{0, 0, 1, 0, 0}},
		{"a share is taken from nobody, but given beyond the slots", "AAAA", "AB", 4, []int{1, 0}},
		{"beyond its share nobody exceeds the slots", "AAAA", "BB", 4, []int{0, 1}},
		{"the share is never below one", "AAA", "BCDEF", 3, []int{0, 0, 1, 2, 3}},
		{"a lost connection waits", "", "aA", 4, []int{1, 0}},
		{"a lost connection keeps its turn in line", "AAAA", "aA", 4, []int{1, 2}},
		{"a lost connection takes no turn from others", "", "aAB", 1, []int{1, 0, 2}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			id := func(letter rune) uuid.UUID { return uuid.UUID{byte(letter &^ 0x20)} }
			turns := []turn{}
			for _, letter := range row.held {
				turns = append(turns, turn{tenant: id(letter), placed: true})
			}
			for i, letter := range row.waiting {
				turns = append(turns, turn{tenant: id(letter), since: time.Unix(int64(i), 0), lost: letter >= 'a'})
			}
			if got := assign(turns, row.slots)[len(row.held):]; !slices.Equal(got, row.want) {
				t.Errorf("places %v, want %v", got, row.want)
			}
		})
	}
}
