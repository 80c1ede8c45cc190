package dashboard

import (
	"cmp"
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

// explained are the setbacks of which the hosted page says what to do, and unexplained all others.
var (
	explained   = []string{session.WhyAstray, session.WhyUnmoved, session.WhyHasty, session.WhyDrawn}
	unexplained = []string{session.WhyAgain, session.WhyLeft, session.WhyUnsure, session.WhyBusy, session.WhyDoubtful,
		session.WhyUnlive, session.NoteFaceless}
)

// help adds what helps with each trouble of a camera and each explained setback, in the words of the
// hosted page.
func (all replies) help(tag string) error {
	data, err := fs.ReadFile(templates.Shopper(), "locales/"+tag+".json")
	texts := map[string]any{}
	if err == nil {
		err = json.Unmarshal(data, &texts)
	}
	keys := map[string]string{}
	for _, trouble := range session.Troubles {
		keys[session.NoteBrowser+"_"+trouble] = "trouble." + trouble + ".body"
	}
	for _, why := range explained {
		keys[why] = "camera." + why
	}
	for why, key := range keys {
		text, ok := texts[key].(string)
		if err == nil && !ok {
			err = fmt.Errorf("the hosted page's %s has no text %s", tag, key)
		}
		all[why] = append(all[why], reply{Text: text})
	}
	return err
}

// of returns the answers to a session's shopper; none about a test.
func (all replies) of(v storyView) []reply {
	if v.Test {
		return nil
	}
	key := v.replyKey()
	answers := slices.Clone(all[key])
	for _, tail := range v.replyTails(key) {
		for i, help := range all[tail] {
			answers[i].Text += " " + help.Text
		}
	}
	return answers
}

// replyTails are the keys of what the answer goes on with: what helps, and ways without this camera. About an open
// check, they are ways that its page has now, and none is its link in another browser.
func (v storyView) replyTails(key string) []string {
	open := v.Status == session.StatusPending
	switch {
	case key != "disabled" && (slices.Contains(explained, v.Why) || v.Why == session.NoteFaceless):
		return []string{v.Why}
	case key == "disabled" || v.Trouble() == "" && key != "open_document": // nothing helps, or the answer says it all
		return nil
	case v.Why == embedded && !open:
		return []string{"browser_anew"}
	case v.Why == embedded && v.Offered:
		return []string{"wallet_way"}
	case v.Why == embedded:
		return nil
	case !open:
		return []string{v.Why, "anew"}
	case v.Offered:
		return []string{v.Why, "photo_way", "wallet_way"}
	}
	return []string{v.Why, "otherwise"}
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
	case v.Camera == insight.CameraBelow:
		return afterRefusal[v.Document]
	case v.Status == session.StatusSpoof:
		return "spoof"
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
