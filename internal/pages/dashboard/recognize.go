package dashboard

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pasted is a recognized text; the zero value is nothing known.
type pasted struct {
	kind pastedKind
	text string // the part that matters: words, or an ID or a link's token in the gateway's spelling
}

type pastedKind string

const (
	pastedSecret  pastedKind = "secret" // a secret or an API key; its text is not kept
	pastedLink    pastedKind = "link"   // of a verification
	pastedEvent   pastedKind = "event"
	pastedSession pastedKind = "session"
	pastedWord    pastedKind = "word" // what findWord finds, such as an order or a name, or several
)

const uuidForm = `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`

var (
	secretPattern  = regexp.MustCompile(`^["']?(?:svc_(?:test|live)_|whsec_|rdsec_)`)
	linkPattern    = regexp.MustCompile(`(?:/v/|^)([A-Za-z0-9_-]{43})(?:[^A-Za-z0-9_-]|$)`)
	cutPattern     = regexp.MustCompile(`/v/[A-Za-z0-9_-]{0,42}[…"'>).,;:!?]*(?:\s|$)`) // such a link without its end
	eventPattern   = regexp.MustCompile(`\b(?i:evt)_` + uuidForm + `\b`)
	sessionPattern = regexp.MustCompile(`\b` + uuidForm + `\b`)
)

// recognize finds out what a text is. The most specific kind wins: the headers of a
// webhook contain an event's ID, its body and a success URL a session's. Of several IDs
// the last one counts, because addresses of pages begin with the tenant's.
func recognize(text string) pasted {
	// Keyboards of other scripts type other digits. A text in another script is left as it is.
	if ascii := strings.Map(asciiDigit, text); utf8.RuneCountInString(ascii) == len(ascii) {
		text = ascii
	}
	if secretPattern.MatchString(text) {
		return pasted{kind: pastedSecret}
	}
	if link := linkPattern.FindStringSubmatch(text); link != nil {
		return pasted{pastedLink, link[1]}
	}
	if all := eventPattern.FindAllString(text, -1); all != nil {
		return pasted{pastedEvent, strings.ToLower(all[len(all)-1])}
	}
	if all := sessionPattern.FindAllString(text, -1); all != nil {
		return pasted{pastedSession, strings.ToLower(all[len(all)-1])}
	}
	words := strings.TrimRight(strings.TrimLeft(text, "\"'(…. \t\n"), "\"').,;:!? \t\n")
	control := func(c rune) bool { return unicode.IsControl(c) && !unicode.IsSpace(c) }
	if words != "" && utf8.ValidString(words) && !strings.ContainsFunc(words, control) {
		return pasted{pastedWord, words}
	}
	return pasted{}
}

// asciiDigit returns a decimal digit of another script as that of ASCII. Unicode keeps
// the digits of a script together, from zero on.
func asciiDigit(c rune) rune {
	if c < utf8.RuneSelf || !unicode.IsDigit(c) {
		return c
	}
	n := rune(0)
	for unicode.IsDigit(c - n - 1) {
		n++
	}
	return '0' + n%10
}
