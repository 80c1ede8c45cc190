package dashboard

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"agegate/internal/rules/webhook"
)

// pasted is a recognized text; the zero value is nothing known.
type pasted struct {
	kind pastedKind
	// text is the part that matters: an ID or a link's token in the gateway's
	// spelling, a success URL, or a whole webhook.
	text string
}

type pastedKind string

const (
	pastedSecret   pastedKind = "secret" // a secret or an API key; its text is not kept
	pastedWebhook  pastedKind = "webhook"
	pastedRedirect pastedKind = "redirect"
	pastedLink     pastedKind = "link" // of a verification
	pastedEvent    pastedKind = "event"
	pastedSession  pastedKind = "session"
	pastedWord     pastedKind = "word" // what findWord finds, such as an order or a name, or several
)

const uuidForm = `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`

var (
	secretPattern  = regexp.MustCompile(`^["']?(?:svc_(?:test|live)_|whsec_|rdsec_)`)
	webhookLine    = regexp.MustCompile(`(?im)^[<>*\-"' \t]*webhook-(?:id|timestamp|signature)["' \t]*:`)
	linkPattern    = regexp.MustCompile(`/v/([A-Za-z0-9_-]{43})(?:[^A-Za-z0-9_-]|$)`)
	eventPattern   = regexp.MustCompile(`\b(?i:evt)_` + uuidForm + `\b`)
	sessionPattern = regexp.MustCompile(`\b` + uuidForm + `\b`)
	bodyStart      = regexp.MustCompile(`(?m)^\x{feff}?\{`)
)

// recognize finds out what a text is. The most specific kind wins: a whole
// webhook contains an event's ID, and a success URL a session's. Of several IDs
// the last one counts, because addresses of pages begin with the tenant's.
func recognize(text string) pasted {
	if secretPattern.MatchString(text) {
		return pasted{kind: pastedSecret}
	}
	if webhookLine.MatchString(text) || strings.Contains(text, `"`+webhook.EventType+`"`) {
		return pasted{pastedWebhook, text}
	}
	for word := range strings.FieldsSeq(text) {
		if params := paramsOf(word); params.Has("token") || params.Has("session") && params.Has("status") {
			return pasted{pastedRedirect, word}
		}
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

// maxBodies is the maximum number of places at which splitDelivery looks for a
// body.
const maxBodies = 16

// splitDelivery separates the headers and the body of a webhook, in either order.
// The body keeps its exact bytes up to its last brace. If there is no complete
// body, everything from the first line with a brace on counts as the body.
func splitDelivery(text string) (http.Header, []byte) {
	starts := bodyStart.FindAllStringIndex(text, maxBodies)
	for _, start := range starts {
		rest := text[start[0]:]
		decoder := json.NewDecoder(strings.NewReader(rest))
		var members map[string]json.RawMessage
		if decoder.Decode(&members) == nil && members["session_id"] != nil {
			end := decoder.InputOffset()
			return headersOf(text[:start[0]] + "\n" + rest[end:]), []byte(rest[:end])
		}
	}
	if starts == nil {
		return headersOf(text), nil
	}
	return headersOf(text[:starts[0][0]]), []byte(text[starts[0][0]:])
}
