package dashboard

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
)

const signaturePath = webhooksPath + "/verify"

var signatureForm = &desk.Form{
	Name: "signature", Again: true,
	Fields: []desk.Field{
		{Name: "headers", Kind: "textarea", Max: 16 << 10, Hint: true},
		{Name: "body", Kind: "textarea", Max: 16 << 10, Hint: true},
	},
}

func (p *Pages) signature() desk.Feature {
	f := desk.Feature{Screens: []string{"signature"}, Keys: verdictKeys("signature")}
	for _, code := range webhook.Codes() {
		f.Keys = append(f.Keys, "signature.finding_"+string(code))
	}
	f.Fill(desk.Route{Path: signaturePath, MinRole: desk.Developer}, signatureForm, p.checkSignature)
	return f
}

// debuggerView is a debugger's page, with its answer if something was pasted.
type debuggerView struct {
	desk.Layout
	Form   *desk.FormView
	Answer *answerView
	Back   string
}

// answerView is a debugger's result. It never contains a correct signature.
type answerView struct {
	Good     bool
	Verdict  page.Text
	Findings []findingView
	Secrets  []matchView
	TestOnly bool        // live mode was not tried, because the log-in does not open it
	Record   *recordLink // the record that the text is about; nil if not found
}

// recordLink is a link to the page of a record.
type recordLink struct {
	Text     string // the key of a text
	Href     string
	Livemode bool // of the record
}

func newAnswer(r *desk.Request) *answerView { return &answerView{TestOnly: !r.Who.Strong()} }

type findingView struct {
	OK   bool
	Text page.Text
}

// matchView is a secret and whether it matches.
type matchView struct {
	Mode    string // key of its name
	State   string // active, staged, retiring or ended
	Created time.Time
	Ended   *time.Time
	Matches bool
}

// verdictKeys are the texts that verdict chooses from.
func verdictKeys(prefix string) []string {
	return []string{
		prefix + ".is_good", prefix + ".is_bad", prefix + ".is_other_mode", prefix + ".is_ended", prefix + ".is_staged",
		prefix + ".is_unknown",
		"secret.active", "secret.staged", "secret.retiring", "secret.ended", "page.test", "page.live",
	}
}

// match returns a secret for display, at a time.
func match(s tenant.SigningKey, now time.Time, matches bool) matchView {
	m := matchView{Mode: modeName(s.Livemode), State: string(s.State), Created: s.CreatedAt, Matches: matches}
	if s.ExpiresAt != nil && !now.Before(*s.ExpiresAt) {
		m.State, m.Ended = "ended", s.ExpiresAt
	}
	return m
}

// verdict returns the sentence about the secret that signed; signer is nil if
// none did. valid says that everything else is right.
func verdict(r *desk.Request, prefix string, signer *matchView, valid bool) page.Text {
	switch {
	case signer == nil:
		return page.Say(prefix + ".is_unknown")
	case signer.Mode != modeName(r.Access.Livemode()) && signer.Mode == "page.live":
		return page.Say(prefix+".is_other_mode", "signed", "live", "here", "test")
	case signer.Mode != modeName(r.Access.Livemode()):
		return page.Say(prefix+".is_other_mode", "signed", "test", "here", "live")
	case signer.Ended != nil:
		return page.Say(prefix+".is_ended", "at", stamp(*signer.Ended))
	case signer.State == string(tenant.SecretStaged):
		return page.Say(prefix + ".is_staged")
	case !valid:
		return page.Say(prefix + ".is_bad")
	}
	return page.Say(prefix + ".is_good")
}

// debug is the question of a debugger. explain returns what it finds in the
// pasted text.
func debug(
	r *desk.Request, screen, back string, explain func(f *desk.FormView) (*answerView, error),
) (*desk.Question, error) {
	v := &debuggerView{Back: r.Href(back)}
	show := func(status int, f *desk.FormView) error {
		v.Form = f
		return r.Show(status, screen, v)
	}
	return &desk.Question{Show: show, Do: func(f *desk.FormView) (err error) {
		if v.Answer, err = explain(f); err != nil {
			return err
		}
		return show(http.StatusOK, f)
	}}, nil
}

// checkSignature checks the pasted text. Only the answer contains it: it is not
// stored or logged.
func (p *Pages) checkSignature(r *desk.Request) (*desk.Question, error) {
	return debug(r, "signature", webhooksPath, func(f *desk.FormView) (*answerView, error) {
		// Exactly as pasted, except for line breaks, which forms change.
		body := strings.ReplaceAll(r.Request().PostForm.Get("body"), "\r\n", "\n")
		return p.explainDelivery(r, headersOf(f.Value("headers")), []byte(body))
	})
}

// headersOf reads pasted headers: one per line, possibly after text that logs and
// tools add. It ignores other lines.
func headersOf(text string) http.Header {
	header := http.Header{}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimLeft(line, "<>*-\"' \t"), ":")
		if found {
			header.Add(strings.Trim(name, "\"' \t"), strings.Trim(value, "\"', \t\r\n"))
		}
	}
	return header
}

// explainDelivery checks a delivery against every secret that the log-in opens.
func (p *Pages) explainDelivery(r *desk.Request, header http.Header, body []byte) (*answerView, error) {
	keys, err := p.signingKeys(r, tenant.SecretWebhook)
	if err != nil {
		return nil, err
	}
	answer, now := newAnswer(r), p.cfg.Now()
	var signer *matchView
	var best webhook.Report
	for _, key := range keys {
		report := webhook.Verify(key.Key, header, body, now)
		view := match(key, now, signedBy(report))
		answer.Secrets = append(answer.Secrets, view)
		if view.Matches && signer == nil || best.Findings == nil {
			best = report
		}
		if view.Matches && signer == nil {
			signer = &view
		}
	}
	changed, incomplete := false, false
	for _, f := range best.Findings {
		values := []any{}
		for i, value := range f.Values {
			values = append(values, fmt.Sprintf("v%d", i+1), plain(value))
		}
		incomplete = incomplete || f.Code == webhook.CodeHeadersMissing
		changed = changed || strings.HasPrefix(string(f.Code), string(webhook.CodeBodyChanged))
		answer.Findings = append(answer.Findings, findingView{f.OK, page.Say("signature.finding_"+string(f.Code), values...)})
	}
	answer.Verdict = verdict(r, "signature", signer, best.Valid)
	answer.Good = answer.Verdict.Key == "signature.is_good"
	switch {
	case changed:
		answer.Verdict = page.Say("signature.is_changed")
	case incomplete:
		answer.Verdict = page.Say("signature.is_incomplete")
	}
	answer.Record, err = p.eventLink(r, header.Get("webhook-id"))
	return answer, err
}

// plain formats a value of a finding, a duration with at most two units.
func plain(value any) string {
	d, ok := value.(time.Duration)
	switch {
	case !ok:
		return fmt.Sprint(value)
	case d >= 48*time.Hour:
		return strconv.Itoa(int(d.Hours()/24)) + "\u00a0d"
	case d >= time.Hour:
		d = d.Truncate(time.Minute)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		return strings.TrimSuffix(text, "0s")
	}
	return text
}

// signedBy reports whether a report's key signed the delivery, even if the body
// was changed afterwards.
func signedBy(report webhook.Report) bool {
	for _, f := range report.Findings {
		if f.Code == webhook.CodeSignature || strings.HasPrefix(string(f.Code), string(webhook.CodeBodyChanged)) {
			return true
		}
	}
	return false
}
