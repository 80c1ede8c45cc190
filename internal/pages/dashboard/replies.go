package dashboard

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/templates"
)

// reply is what staff can send to a shopper, in one language.
type reply struct {
	Tag, Name string // of the language, in the language itself
	Text      string
}

// replies are the answers by how a session ended, each in all languages of the hosted
// page.
type replies map[string][]reply

// replyKeys are the ends of sessions with an answer.
var replyKeys = []string{"passed", "unopened", "open", "retry", "expired", "spoof", "unlive", "document", "refused",
	"declined", "no_estimate", "fallback"}

// readReplies reads the answers, and checks that there is one for each end in every
// language.
func readReplies() (replies, error) {
	data, err := fs.ReadFile(templates.Dashboard(), "shopper-replies.json")
	if err != nil {
		return nil, err
	}
	var languages []map[string]string
	if err := json.Unmarshal(data, &languages); err != nil {
		return nil, fmt.Errorf("shopper-replies.json: %w", err)
	}
	all, tags := replies{}, []string{}
	for _, texts := range languages {
		tags = append(tags, texts["tag"])
		for _, key := range replyKeys {
			if texts[key] == "" || texts["name"] == "" {
				return nil, fmt.Errorf("shopper-replies.json: %s has no text %s", texts["tag"], key)
			}
			all[key] = append(all[key], reply{texts["tag"], texts["name"], texts[key]})
		}
	}
	if !slices.Equal(tags, tenant.Languages) {
		return nil, fmt.Errorf("shopper-replies.json: the languages are %v, not %v", tags, tenant.Languages)
	}
	return all, nil
}

// replyKey is the key of the answer to a session's shopper, by what support can tell. After
// a refused estimate no answer asks for another camera check: it leads to a document, or to the shop.
func (v storyView) replyKey() string {
	below := v.Camera == insight.CameraBelow
	switch {
	case v.Status == session.StatusPassed:
		return "passed"
	case v.Status == session.StatusPending && !v.Opened:
		return "unopened"
	case v.Status == session.StatusPending && v.Why != "":
		return "retry"
	case v.Status == session.StatusPending:
		return "open"
	case below && (v.Status == session.StatusExpired || v.Document == insight.DocumentDeclined):
		return "declined"
	case v.Status == session.StatusExpired:
		return "expired"
	case below && v.Document == insight.DocumentUnlive:
		return "unlive"
	case v.Status == session.StatusSpoof, v.Document == insight.DocumentUnlive:
		return "spoof"
	case below && v.Document != "":
		return "refused"
	case v.Document != "":
		return "document"
	case !below:
		return "no_estimate"
	}
	return "fallback"
}
