package dashboard

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/pages/page"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

const tokenPath = redirectPath + "/verify"

var tokenForm = &desk.Form{
	Name: "token", Again: true,
	Fields: []desk.Field{{Name: "url", Kind: "textarea", Max: 8 << 10, Hint: true}},
}

func (p *Pages) redirectToken() desk.Feature {
	f := desk.Feature{Screens: []string{"token"}, Keys: verdictKeys("token")}
	f.Fill(desk.Route{Path: tokenPath, MinRole: desk.Developer}, tokenForm, p.checkToken)
	return f
}

// checkToken checks the pasted text. Only the answer contains it: it is not
// stored or logged.
func (p *Pages) checkToken(r *desk.Request) (*desk.Question, error) {
	return debug(r, "token", redirectPath, func(f *desk.FormView) (*answerView, error) {
		return p.explainToken(r, paramsOf(f.Value("url")))
	})
}

// paramsOf reads the parameters of a URL, or of a query alone.
func paramsOf(pasted string) url.Values {
	pasted = strings.Trim(pasted, "\"'<> \t\n")
	if _, query, found := strings.Cut(pasted, "?"); found {
		pasted = query
	}
	pasted, _, _ = strings.Cut(pasted, "#")
	params, _ := url.ParseQuery(pasted) // what cannot be read counts as missing
	return params
}

// explainToken makes all possible checks, with every secret that the log-in
// opens.
func (p *Pages) explainToken(r *desk.Request, params url.Values) (*answerView, error) {
	keys, err := p.signingKeys(r, tenant.SecretRedirect)
	if err != nil {
		return nil, err
	}
	answer := newAnswer(r)
	valid := true
	say := func(ok bool, key string, pairs ...any) {
		valid = valid && ok
		answer.Findings = append(answer.Findings, findingView{ok, page.Say("token."+key, pairs...)})
	}
	checkParams(params, say)
	redirect := credential.Redirect{
		Session: params.Get("session"), Status: params.Get("status"), IsAdult: params.Get("is_adult") == "true",
	}
	signer := p.matchToken(keys, redirect, params.Get("token"), answer, say)
	if redirect.Status == "VERIFIED" && params.Get("is_adult") == "true" {
		say(true, "result")
	} else {
		say(false, "result_other")
	}
	if answer.Record, err = p.checkSession(r, redirect.Session, say); err != nil {
		return nil, err
	}
	answer.Verdict = verdict(r, "token", signer, valid)
	answer.Good = answer.Verdict.Key == "token.is_good"
	return answer, nil
}

func checkParams(params url.Values, say func(bool, string, ...any)) {
	var missing, repeated []string
	for _, name := range []string{"token", "session", "status", "is_adult"} {
		switch n := len(params[name]); {
		case params.Get(name) == "":
			missing = append(missing, name)
		case n > 1:
			repeated = append(repeated, name)
		}
	}
	switch {
	case missing != nil:
		say(false, "missing", "names", strings.Join(missing, ", "))
	case repeated != nil:
		say(false, "repeated", "names", strings.Join(repeated, ", "))
	default:
		say(true, "params")
	}
}

// matchToken finds the secret that signed a token, fills in answer.Secrets and
// checks the expiry.
func (p *Pages) matchToken(
	keys []tenant.SigningKey, redirect credential.Redirect, token string, answer *answerView,
	say func(bool, string, ...any),
) *matchView {
	now := p.cfg.Now()
	var signer *matchView
	malformed, expired := false, false
	for _, key := range keys {
		err := credential.VerifyRedirectToken(key.Key, token, redirect, now)
		malformed = errors.Is(err, credential.ErrTokenMalformed)
		view := match(key, now, err == nil || errors.Is(err, credential.ErrTokenExpired))
		answer.Secrets = append(answer.Secrets, view)
		if view.Matches && signer == nil {
			signer, expired = &view, err != nil
		}
	}
	switch {
	case malformed:
		say(false, "malformed")
	case signer == nil:
		say(false, "signature_other")
	default:
		say(true, "signature")
		ts, _, _ := strings.Cut(token, ".")
		seconds, _ := strconv.ParseInt(ts, 10, 64) // signed, so it is a number
		at := stamp(time.Unix(seconds, 0).UTC())
		if expired {
			say(false, "expired", "at", at)
		} else {
			say(true, "valid_until", "at", at)
		}
	}
	return signer
}

// checkSession reports whether a session is the tenant's and has passed, and
// returns a link to it. It changes nothing.
func (p *Pages) checkSession(r *desk.Request, text string, say func(bool, string, ...any)) (*recordLink, error) {
	id, ok := desk.ParseID(text)
	if !ok {
		say(false, "session_malformed")
		return nil, nil
	}
	record, found, err := p.findSession(r, id)
	switch {
	case err != nil:
		return nil, err
	case !found:
		say(false, "session_unknown")
		return nil, nil
	case record.Livemode != r.Access.Livemode():
		say(false, "session_other_mode")
	case record.Status != session.StatusPassed:
		say(false, "session_not_passed", "status", string(record.Status))
	default:
		say(true, "session")
	}
	return linkTo(r, record), nil
}
