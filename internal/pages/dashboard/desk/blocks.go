package desk

import (
	"html/template"
	"strings"

	"agegate/internal/pages/page"
)

// blocks are the template functions of every page, in addition to t, texts and say.
// Texts among their arguments are already translated.
var blocks = template.FuncMap{
	"badge": func(tone, text string) BadgeView { return BadgeView{tone, text} },
	"tile":  func(label string, value any, note string) TileView { return TileView{label, note, value} },
	"empty": func(title, body, action, href string) EmptyView { return EmptyView{title, body, action, href} },
	"named": func(order, id string) (v NamedView) {
		v.Head, v.Tail = SplitID(order)
		v.Start, v.End = SplitID(id)
		return v
	},
	"coded":    coded,
	"code":     func(language, shown, copied string) CodeView { return CodeView{language, shown, copied} },
	"ceremony": func(kind, label string, v PasskeyView) CeremonyView { return CeremonyView{kind, label, v} },
}

// coded is the template function coded: a text in which commands, files and variables
// stand between backquotes, as HTML.
func coded(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		if part = template.HTMLEscapeString(part); i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String()) //nolint:gosec // escaped
}

// BadgeView is a status shown as a word and a shape, so that it does not depend on colour alone.
type BadgeView struct {
	Tone string // good, warn, bad or plain
	Text string
}

// TileView is one figure of an overview.
type TileView struct {
	Label, Note string
	Value       any // as the template function figure takes it
}

// EmptyView is shown instead of an empty list. Without an address there is no action.
type EmptyView struct{ Title, Body, Action, Href string }

// shownEnd is how many characters at the end of an ID are shown. The first characters
// of a UUID are the time, so many IDs share them.
const shownEnd = 8

// SplitID splits an ID into its start, which only screen readers read, and its end, which is shown.
func SplitID(id string) (start, end string) {
	all := []rune(id)
	at := max(0, len(all)-shownEnd)
	return string(all[:at]), string(all[at:])
}

// NamedView names a record in a list: by the order, if there is one, whose Head gives way, and by its ID, see SplitID.
type NamedView struct{ Head, Tail, Start, End string }

// CodeView is a block of code in a language, which its button copies in another form, such as without line breaks.
type CodeView struct{ Language, Shown, Copied string }

// HTML returns the code in colours.
func (v CodeView) HTML() template.HTML { return page.Colour(v.Language, v.Shown) }

// PasskeyView is the view of a page that offers a passkey.
type PasskeyView struct {
	Options string // for the browser; empty if passkeys are not offered
	None    string // why passkeys cannot work at this address: the key of a text; may be empty
}

// CeremonyView is a button that makes or uses a passkey.
type CeremonyView struct {
	Kind, Label string // create or get
	PasskeyView
}

// Pager has the addresses of a list's other pages, or "". Each has one meaning in all lists.
type Pager struct {
	Newest       string // the first page of a list that begins with the newest
	Newer, Older string // the pages beside this one in such a list
	Further      string // the next page of a list in another order
}
