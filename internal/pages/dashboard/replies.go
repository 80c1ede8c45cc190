package dashboard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"agegate/internal/backoffice/insight"
	"agegate/internal/check/document/photo"
	"agegate/internal/check/document/wallet"
	"agegate/internal/pages/page"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/templates"
)

// reply is what staff can send to a shopper, in one language.
type reply struct {
	Tag, Name string // of the language, in the language itself
	Text      string
}

// replies are the answers by how a session ended, each in all languages of the hosted page.
type replies map[string][]reply

// replyKeys are the ends of sessions with an answer, and what helps where a camera does not.
var replyKeys = []string{"passed", "untold", "unopened", "open", "open_document", "embedded", "disabled", "retry",
	"expired", "expired_retry", "spoof", "unlive", "document", "wallet", "photo", "refused", "under_age", "declined",
	"no_estimate", "no_camera", "fallback", "otherwise", "anew", "browser_anew", "photo_way", "wallet_way",
	session.NoteFaceless}

// embedded is the note of a page inside another app, whose link no other browser can open.
const embedded = session.NoteBrowser + "_embedded"

// readReplies reads the answers, and checks that there is one for each end in every language.
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
		if err := all.help(texts["tag"]); err != nil {
			return nil, err
		}
	}
	if !slices.Equal(tags, tenant.Languages) {
		return nil, fmt.Errorf("shopper-replies.json: the languages are %v, not %v", tags, tenant.Languages)
	}
	return all, nil
}

// unexplained are the setbacks after which a reply asks for light and care, and noteKeys all notes of which a
// session's page tells.
var (
	unexplained = []string{session.WhyAgain, session.WhyLeft, session.WhyUnsure, session.WhyBusy, session.WhyDoubtful,
		session.WhyUnlive, session.NoteFaceless}
	noteKeys = slices.Concat([]string{session.NoteOther},
		page.Keys(session.NoteBrowser+"_", session.Troubles...), page.Keys(session.NoteWallet+"_", wallet.Complaints...),
		page.Keys(session.NotePhoto+"_", photo.StageDocument, photo.StageFace),
		page.Keys(session.NoteDocument+"_", "expired", "revoked", "under_age", "undated", "another_face"))
)

// help adds what helps with each setback and note, in the words of the hosted page.
func (all replies) help(tag string) error {
	data, err := fs.ReadFile(templates.Shopper(), "locales/"+tag+".json")
	texts := map[string]any{}
	if err == nil {
		err = json.Unmarshal(data, &texts)
	}
	for _, why := range slices.Concat(insight.Explained, unexplained, noteKeys) {
		key := insight.Said(why)
		if key == "" {
			continue
		}
		text, ok := texts[key].(string)
		if err == nil && !ok {
			err = fmt.Errorf("the hosted page's %s has no text %s", tag, key)
		}
		all[why] = append(all[why], reply{Text: text})
	}
	return err
}

// of returns the answers to a session's shopper, also to that of a forced result for practice; none about a receiver.
func (all replies) of(v storyView) []reply {
	if v = v.real(); v.Test {
		return nil
	}
	answers := slices.Clone(all["open"])
	for i := range answers {
		var said []string
		for _, part := range v.replyParts() {
			if texts := all[part]; texts != nil {
				said = append(said, texts[i].Text)
			}
		}
		answers[i].Text = strings.Join(said, " ")
	}
	return answers
}

// real is the story of a forced result as if it were a real one.
func (v storyView) real() storyView {
	if v.Forced || v.Camera == insight.CameraForced {
		v.Test, v.Camera = false, insight.CameraBelow
		if v.Offered && v.Document == "" {
			v.Document = insight.DocumentUnproved
		}
	}
	return v
}

// replyParts are the keys of the parts of the answer: why a document proved nothing, the answer, what helps, and ways
// without this camera. About an open check, they are ways that its page has now; none is its link in another browser.
func (v storyView) replyParts() []string {
	key, open := v.replyKey(), v.Status == session.StatusPending
	kind, _, _ := strings.Cut(v.Why, "_")
	switch {
	case key == "disabled" || key == "under_age":
		return []string{key}
	case slices.Contains([]string{session.NoteDocument, session.NoteWallet, session.WhyDoubtful}, kind):
		return []string{v.Why, key}
	case slices.Contains(insight.Explained, v.Why), v.Why == session.NoteFaceless,
		open && !v.Offered && v.Trouble() == "":
		return []string{key, v.Why}
	case v.Why == embedded && !open:
		return []string{key, "browser_anew"}
	case v.Why == embedded && v.Offered:
		return []string{key, "wallet_way"}
	case v.Why == embedded, v.Trouble() == "" && key != "open_document": // nothing helps
		return []string{key}
	case !open:
		return []string{key, v.Why, "anew"}
	case v.Offered:
		return []string{key, v.Why, "photo_way", "wallet_way"}
	}
	return []string{key, v.Why, "otherwise"}
}

// afterRefusal are the keys after a refused estimate. No answer asks for another camera check.
var afterRefusal = map[insight.DocumentEnd]string{"": "fallback", insight.DocumentDeclined: "declined",
	insight.DocumentUnlive: "unlive", insight.DocumentRefused: "refused", insight.DocumentUnproved: "refused"}

// replyKey is the key of the answer to a session's shopper, by what support can tell.
func (v storyView) replyKey() string {
	switch {
	case v.Status == session.StatusPassed && v.untold:
		return "untold"
	case v.Status == session.StatusPassed:
		return "passed"
	case v.Refused == "under_age": // invites to no other check
		return v.Refused
	case v.disabled:
		return "disabled"
	case v.Status == session.StatusPending || v.Status == session.StatusExpired:
		return v.unfinished()
	case v.Status == session.StatusSpoof:
		return "spoof"
	case v.Camera == insight.CameraBelow:
		return afterRefusal[v.Document]
	case v.Document == insight.DocumentUnlive:
		return "unlive"
	case v.Trouble() != "" && v.Trouble() != session.TroubleBlocked && v.Way == "":
		return "no_camera"
	case v.Document != "":
		return cmp.Or(string(v.Way), "document")
	}
	return "no_estimate"
}

// unfinished is the key of the answer about a session without a result.
func (v storyView) unfinished() string {
	setback, expired := slices.Contains(unexplained, v.Why), v.Status == session.StatusExpired
	switch {
	case expired && v.Camera == insight.CameraBelow:
		return "declined"
	case expired && setback:
		return "expired_retry"
	case expired:
		return "expired"
	case setback:
		return "retry"
	case v.Why == embedded:
		return "embedded"
	case v.Offered:
		return "open_document"
	case !v.Opened:
		return "unopened"
	}
	return "open"
}
