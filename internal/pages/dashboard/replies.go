package dashboard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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

// replyKeys are the ends of sessions with an answer, and what is added to one.
var replyKeys = slices.Concat(setbacks, []string{"passed", "untold", "unopened", "open", "open_document", "joined",
	"embedded", "disabled", "expired", "spoof", "unlive", "document", "wallet", "photo", "refused", "under_age",
	"declined", "no_estimate", "no_camera", "fallback", "otherwise", "anew", "browser_anew", "photo_way", "wallet_way",
	"elsewhere", "no_picture", "last_document", "strike", "tries_1", "tries_2", "minor", "until", "spoof_document",
	"wallet_silent", "wallet_answered", "words"})

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
	all["wallet_returns"] = all["wallet_answered"] // which the page has to ask for again
	if !slices.Equal(tags, tenant.Languages) {
		return nil, fmt.Errorf("shopper-replies.json: the languages are %v, not %v", tags, tenant.Languages)
	}
	return all, nil
}

// spoken returns the tag of the language with the most words of a text among its common ones, which is own unless
// another has more.
func (all replies) spoken(text, own string) string {
	best, most, words := own, 0, saidIn(text)
	for _, common := range all["words"] {
		known := strings.Fields(common.Text)
		others := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(known, word) })
		if n := len(words) - len(others); n > most || n == most && common.Tag == own {
			best, most = common.Tag, n
		}
	}
	return best
}

// setbacks are those of which a reply has its own words; of noteKeys it says what the hosted page does.
var (
	setbacks = slices.Concat(insight.Explained, []string{session.WhyAgain, session.WhyLeft, session.WhyUnsure,
		session.WhyBusy, session.WhyDoubtful, session.NoteFaceless},
		page.Keys(session.NotePhoto+"_", photo.StageDocument, photo.StageFace))
	noteKeys = slices.Concat(
		page.Keys(session.NoteBrowser+"_", session.Troubles...), page.Keys(session.NoteWallet+"_", wallet.Complaints...),
		page.Keys(session.NoteDocument+"_", "expired", "revoked", "under_age", "undated", "another_face"))
)

// screenKey is the key of a text with which the hosted page ends, refuses or asks for a document.
var screenKey = regexp.MustCompile(`^(?:document|wallet)\.(refused)\.|^(?:document|photo|wallet)\.(title)$|` +
	`^((?:(?:trouble|notice)\..*|fallback|spoof|onward|queue|handover\.expired)\.title)$`)

// help adds what helps with each note, in the words of the hosted page, and as "screen KEY" what its screens say.
// The key of all documents that are refused is refused, and that of the titles of the document step is title.
func (all replies) help(tag string) error {
	data, err := fs.ReadFile(templates.Shopper(), "locales/"+tag+".json")
	texts := map[string]any{}
	if err == nil {
		err = json.Unmarshal(data, &texts)
	}
	for _, why := range noteKeys {
		key := insight.Said(why)
		text, ok := texts[key].(string)
		if err == nil && !ok {
			err = fmt.Errorf("the hosted page's %s has no text %s", tag, key)
		}
		all[why] = append(all[why], reply{Text: text})
	}
	for key, text := range texts {
		if at := screenKey.FindStringSubmatch(key); at != nil {
			key = "screen " + at[1] + at[2] + at[3]
			all[key] = append(all[key], reply{Text: fmt.Sprint(text)})
		}
	}
	return err
}

// of returns the answers to a session's shopper, with times in the zone of now, and dates but today's. Those about a
// forced result are for practice; about a receiver there is none.
func (all replies) of(v storyView, now time.Time) []reply {
	if v = v.real(); v.Test {
		return nil
	}
	key, because, ways := v.replyParts()
	if v.Status == session.StatusPending && !v.disabled {
		if v.Refused == "under_age" {
			ways = append(ways, "minor")
		}
		ways = append(ways, "until")
	}
	answers := slices.Clone(all[key])
	for i, answer := range answers {
		paragraphs := strings.Split(answer.Text, "\n\n")
		for _, why := range because {
			if texts := all[why]; texts != nil {
				said, _, _ := strings.Cut(texts[i].Text, "\n\n")
				at := 0
				if v.Trouble() != "" && why == v.Why && v.Status != session.StatusPending { // of the next check
					at = len(paragraphs) - 1
				}
				paragraphs[at] += " " + said
			}
		}
		for _, way := range ways {
			paragraphs = append(paragraphs, all[way][i].Text)
		}
		answers[i].Text = strings.ReplaceAll(strings.Join(paragraphs, "\n\n"), "{until}",
			strings.TrimPrefix(v.until.In(now.Location()).Format("2006-01-02 15:04"), now.Format("2006-01-02 "))+
				" ("+now.Location().String()+")")
	}
	return answers
}

// real is the story of a forced result as if it were a real one.
func (v storyView) real() storyView {
	if v.Forced || v.Camera == insight.CameraForced {
		v.Test, v.Camera = false, insight.CameraBelow
		if v.Offered && v.Document == "" {
			v.Document = insight.DocumentUnproved
			if v.Way == "" {
				v.Document = insight.DocumentDeclined
			}
		}
	}
	return v
}

// replyParts are the keys of the answer, of what its first paragraph adds, which is why the last attempt gave no result
// and what helps, and of ways without this camera, a paragraph each.
func (v storyView) replyParts() (key string, because, ways []string) {
	key = v.replyKey()
	about, word, _ := session.Setback{Why: v.Why}.Note()
	switch {
	case key == "disabled", key == "under_age", key == v.Why:
		return key, nil, nil
	case key == "embedded", v.Why == embedded && v.Status != session.StatusPending:
		return key, nil, v.ways(key)
	case key == "wallet_answered", key == "joined" && (v.Trouble() != "" || v.Why == session.NoteFaceless): // of the past
		return key, v.ahead(), nil
	case v.Trouble() != "" && key != "no_camera":
		because = []string{"no_picture"}
	case slices.Contains(bare, key) && (slices.Contains([]string{session.NoteDocument, session.WhyDoubtful}, about) ||
		about == session.NoteWallet && !slices.Contains(unread, word)): // because of its document
		because = []string{"last_document"}
	}
	if v.Camera == insight.CameraBelow { // what the answer of another end says itself
		first := map[session.Status]string{session.StatusExpired: "expired", session.StatusPending: "fallback"}[v.Status]
		because = append([]string{first}, because...)
	}
	return key, slices.Concat(because, []string{v.Why, "wallet_" + v.Wallet}, v.ahead()), v.ways(key)
}

// ways are the keys of ways without this camera: of an open check, those that its page has now.
func (v storyView) ways(key string) []string {
	open := v.Status == session.StatusPending
	switch {
	case (key == "spoof" || key == "fallback") && v.prefers:
		return []string{"spoof_document"}
	case key == "embedded" && !v.Offered, key == "joined":
		return nil
	case key == "embedded":
		return []string{"wallet_way"}
	case v.Why == embedded:
		return []string{"browser_anew"}
	case open && v.Offered && v.Troubled:
		return []string{"photo_way", "wallet_way"}
	case v.Trouble() != "" && open:
		return []string{"otherwise"}
	case v.Trouble() != "":
		return []string{"anew"}
	}
	return nil
}

// bare are the answers that do not say that the last document proved nothing, and unread the complaints of a wallet
// that are about no document.
var bare, unread = []string{"open_document", "joined", "expired", "declined", "refused", "wallet"},
	[]string{"clock", "declined", "unable", "unverified"}

// ahead are the keys of what the shopper of an open check should know of its next steps.
func (v storyView) ahead() (keys []string) {
	if v.Status != session.StatusPending {
		return nil
	}
	if v.Strikes > 0 && !v.Offered {
		keys = append(keys, "strike")
	}
	if v.Refusals > 0 && v.Wallet != "answered" {
		keys = append(keys, "tries_"+strconv.Itoa(session.MaxDocuments-v.Refusals))
	}
	if v.Other {
		keys = append(keys, "elsewhere")
	}
	return keys
}

// afterRefusal are the keys after a refused estimate. No answer asks for another camera check.
var afterRefusal = map[insight.DocumentEnd]string{"": "fallback", insight.DocumentDeclined: "declined",
	insight.DocumentUnlive: "unlive", insight.DocumentRefused: "refused", insight.DocumentUnproved: "refused"}

// replyKey is the key of the answer to a session's shopper, by what support can tell.
func (v storyView) replyKey() string {
	switch {
	case v.Status == session.StatusPassed:
		if v.untold {
			return "untold"
		}
		return "passed"
	case v.Refused == "under_age" && (v.disabled || v.Status != session.StatusPending): // invites to no other check
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
	expired := v.Status == session.StatusExpired
	switch {
	case expired && v.Camera == insight.CameraBelow:
		return "declined"
	case expired:
		return "expired"
	case v.Wallet == "answered":
		return "wallet_answered"
	case v.Joined:
		return "joined"
	case v.Why == embedded:
		return "embedded"
	case v.Offered:
		return "open_document"
	case !v.Opened:
		return "unopened"
	}
	return "open"
}
