package reference

import (
	"slices"
	"testing"
)

// TestSynonyms: each synonym leads to a word of the pages, and no word that the search
// leaves out has one.
func TestSynonyms(t *testing.T) {
	views, err := read("https://age.example")
	if err != nil {
		t.Fatal(err)
	}
	words := newIndex(views).words
	for asked, word := range synonyms {
		if !slices.Contains(words, word) || slices.Contains(fillers, asked) {
			t.Errorf("%s leads to %s", asked, word)
		}
	}
}
