package audit

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxNote is the maximum length of a note, in characters.
const MaxNote = 200

// ErrNote states the rule for notes, the free text that an actor adds to an act.
var ErrNote = errors.New("must be at most 200 visible characters")

// CheckNote returns ErrNote for a note that breaks the rule. An empty one passes.
func CheckNote(note string) error {
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) }
	if !utf8.ValidString(note) || utf8.RuneCountInString(note) > MaxNote || strings.ContainsFunc(note, hidden) {
		return ErrNote
	}
	return nil
}

// WithNote adds a note to the parameters of an act, unless it is empty.
func WithNote(params map[string]string, name, note string) map[string]string {
	if note == "" {
		return params
	}
	if params == nil {
		params = map[string]string{}
	}
	params[name] = note
	return params
}
