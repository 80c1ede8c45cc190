package mrz

import (
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// special are the codes in documents that are not three letters of ISO 3166-1 (Doc 9303
// part 3, section 5, parts A to D). They stand for Germany (a single letter), kinds of
// British nationals, organizations, persons without a nationality, and Utopia, the
// issuer of specimens.
var special = []string{
	"D", "EUE", "GBD", "GBN", "GBO", "GBP", "GBS", "IAO", "NTZ", "RKS", "UNA", "UNK", "UNO", "UTO", "WSA",
	"XBA", "XCC", "XCE", "XCO", "XCT", "XDC", "XEC", "XES", "XIM", "XMP", "XOM", "XPO", "XXA", "XXB", "XXC", "XXX",
}

// IsState reports whether a code, without fillers, stands for a state or an
// organization that issues documents.
func IsState(code string) bool {
	if slices.Contains(special, code) {
		return true
	}
	if len(code) != len("UTO") || strings.ContainsFunc(code, func(r rune) bool { return r < 'A' || r > 'Z' }) {
		return false
	}
	region, err := language.ParseRegion(code)
	return err == nil && region.IsCountry() && region.ISO3() == code
}
