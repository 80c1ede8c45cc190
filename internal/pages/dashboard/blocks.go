package dashboard

// badgeView is a status shown as a word and a shape, so that it does not depend
// on colour alone.
type badgeView struct {
	Tone string // good, warn, bad or plain
	Text string
}

// newBadge is the template function badge: {{template "badge" (badge "good" (t "…"))}}.
func newBadge(tone, text string) badgeView { return badgeView{tone, text} }

// tileView is one figure of an overview.
type tileView struct{ Label, Value, Note string }

// newTile is the template function tile. Its texts are already translated.
func newTile(label, value, note string) tileView { return tileView{label, value, note} }

// emptyView is shown instead of an empty list.
type emptyView struct{ Title, Body, Action, Href string }

// newEmpty is the template function empty. Its texts are already translated.
// Without an address there is no action.
func newEmpty(title, body, action, href string) emptyView {
	return emptyView{title, body, action, href}
}

// ceremonyView is a button that makes or uses a passkey.
type ceremonyView struct {
	Kind, Label string // create or get
	passkeyView
}

// newCeremony is the template function ceremony. Its label is already translated.
func newCeremony(kind, label string, v passkeyView) ceremonyView {
	return ceremonyView{kind, label, v}
}
