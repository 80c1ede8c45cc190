package accuracy

import (
	"slices"
	"testing"
)

// TestBalance: at each age the groups have the same total weight, within the
// bounds of a single weight.
func TestBalance(t *testing.T) {
	rows := []struct {
		name   string
		counts map[string]int // examples of 20 years, by group
		want   map[string]float32
	}{
		{"alike", map[string]int{"a": 3, "b": 3}, map[string]float32{"a": 1, "b": 1}},
		{"three to one", map[string]int{"a": 30, "b": 10}, map[string]float32{"a": 2.0 / 3, "b": 2}},
		{"one to nine", map[string]int{"a": 10, "b": 90}, map[string]float32{"a": topWeight, "b": 5.0 / 9}},
		{"no groups", map[string]int{"": 7}, map[string]float32{"": 1}},
		{"some without a group", map[string]int{"": 50, "a": 5, "b": 15}, map[string]float32{"": 1, "a": 2, "b": 2.0 / 3}},
	}
	for _, row := range rows {
		var all []Example
		for group, n := range row.counts {
			all = append(all, slices.Repeat([]Example{{Age: 20, Group: group}}, n)...)
			all = append(all, slices.Repeat([]Example{{Age: 40, Group: group}}, 5)...) // too far away to count
		}
		for i, weight := range balance(all) {
			if e := all[i]; e.Age == 20 && weight != row.want[e.Group] {
				t.Errorf("%s: %q weighs %v, want %v", row.name, e.Group, weight, row.want[e.Group])
			}
		}
	}
	lone := balance([]Example{{Age: 20, Group: "a"}, {Age: 22, Group: "b"}, {Age: 60, Group: "b"}})
	if want := []float32{1, 1, 0.5}; !slices.Equal(lone, want) {
		t.Errorf("ages two years apart count together: %v, want %v", lone, want)
	}
}
