package certify

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// flip changes the letter of a text that is n from its end.
func flip(text string, n int) string {
	at, letter := len(text)-n, "A"
	if text[at] == 'A' {
		letter = "B"
	}
	return text[:at] + letter + text[at+1:]
}

// inSmallLetters writes the names of headers as HTTP/2 does.
func inSmallLetters(h http.Header) {
	for name, values := range h {
		delete(h, name)
		h[strings.ToLower(name)] = values
	}
}

// otherCase swaps capital and small letters.
func otherCase(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsUpper(c) {
			return unicode.ToLower(c)
		}
		return unicode.ToUpper(c)
	}, text)
}

// respellings returns other spellings of an address, each of which a shop may take for
// the same.
func respellings(address string) []damage {
	path, q, _ := strings.Cut(address, "?")
	pairs := strings.Split(q, "&")
	reversed := slices.Clone(pairs)
	slices.Reverse(reversed)
	end := len(path) - 1
	all := []damage{
		{"its parameters in another order", path + "?" + strings.Join(reversed, "&")},
		{"a further parameter", address + "&utm_source=x"},
		{"a path with / behind it", path + "/?" + q},
		{"a path with an escaped letter", fmt.Sprintf("%s%%%02X?%s", path[:end], path[end], q)},
	}
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		for _, d := range spellings(name, value) {
			changed := slices.Clone(pairs)
			changed[i] = d.value
			all = append(all, damage{name + " " + d.name, path + "?" + strings.Join(changed, "&")})
		}
	}
	return slices.DeleteFunc(all, func(d damage) bool { // an address without a path
		u, err := url.Parse(d.value)
		return err != nil || !strings.Contains(path, u.Host)
	})
}

// without returns a query without the parameter of a name.
func without(query, name string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(query, "&"),
		func(pair string) bool { return strings.HasPrefix(pair, name+"=") }), "&")
}

// spellings returns other spellings of a parameter in a query.
func spellings(name, value string) []damage {
	all := []damage{
		{"twice", name + "=" + value + "&" + name + "=" + value},
		{"with an empty one behind it", name + "=" + value + "&" + name + "="},
		{"as a list", name + "[]=" + value},
		{"with another name's case", otherCase(name) + "=" + value},
	}
	all = append(all, prefixed(name+"=", []damage{
		{"with 0 before it", "0" + value}, {"with + before it", "%2B" + value}, {"with a space before it", "%20" + value},
		{"with a space behind it", value + "+"}, {"with a line end behind it", value + "%0A"},
		{"with a zero byte behind it", value + "%00"}, {"with .0 behind it", value + ".0"},
		{"with a letter behind it", value + "x"}, {"with / behind it", value + "%2F"},
		{"in the other case", otherCase(value)},
	})...)
	if value != "" && value[0] != '%' && value[0] != '+' {
		all = append(all, damage{"with an escaped letter", fmt.Sprintf("%s=%%%02X%s", name, value[0], value[1:])})
	}
	return all
}

// idSpellings returns other spellings of a session's ID.
func idSpellings(id string) []damage {
	return []damage{{"in the other case", otherCase(id)}, {"without dashes", strings.ReplaceAll(id, "-", "")},
		{"in braces", "{" + id + "}"}, {"as a URN", "urn:uuid:" + id}, {"with a space behind it", id + " "},
		{"with a space before it", " " + id}}
}
