package wallets

import (
	"bytes"
	"encoding/json"
	"strings"
)

// jsonMisbehaviours are honest answers in JSON that two readers could read
// differently: a member occurs twice (RFC 8259, 4; RFC 7515, 4; RFC 7516, 4), or has
// the name of another one but for its case.
func jsonMisbehaviours() (all []misbehaviour) {
	add := func(f form, name, want string, edit func(a *answer)) {
		all = append(all, misbehaviour{name, f, edit, want})
	}
	payload := func(f form, name string, edit func(plain []byte) []byte) {
		add(f, name, malformed, func(a *answer) { a.jwe = func(j *sealed) { j.plain = edit(j.plain) } })
	}
	header := func(name, want, member string) {
		add("", name, want, func(a *answer) { a.jwe = func(j *sealed) { j.named = inFront(member) } })
	}
	payload("", "two vp_tokens in the payload", inFront(`"vp_token":{"licence":["AAAA"]}`))
	payload("", "two equal vp_tokens in the payload", func(b []byte) []byte {
		return inFront(string(b[1 : len(b)-1]))(b)
	})
	payload("", "two vp_tokens, one of them with escapes in its name", inFront(`"vp\u005ftoken":{"licence":["AAAA"]}`))
	payload("", "a vp_token whose name is in capitals", func(b []byte) []byte {
		return bytes.Replace(b, []byte("vp_token"), []byte("VP_TOKEN"), 1)
	})
	payload("", "an unknown member of the payload twice", inFront(`"a":1,"a":1`))
	payload("", "bytes after the payload", func(b []byte) []byte { return append(b, "{}"...) })
	payload(formSigned, "two states", inFront(`"state":"other"`))
	payload("", "a query answered twice in a vp_token", answeredTwice("licence"))
	payload(formPID, "a query for a PID answered twice in a vp_token", answeredTwice("pid"))
	add(formProofOfAge, "a query answered twice to av://", malformed, func(a *answer) {
		a.send = func(s *sending) { s.form.Set("vp_token", string(answeredTwice("age")([]byte(s.form.Get("vp_token"))))) }
	})
	for _, f := range []form{formBrowser, formMdoc} {
		add(f, "two answers to the page: "+string(f), unverified, func(a *answer) {
			a.send = func(s *sending) {
				s.body = bytes.Replace(s.body, []byte(`"data":{`), []byte(`"data":{"response":"AAAA",`), 1)
			}
		})
	}
	header("a header with two algorithms", malformed, `"alg":"none"`)
	header("a header with two encryptions", malformed, `"enc":"A256GCM"`)
	header("a header with two names of the key", malformed, `"kid":"other"`)
	header("a header with two ephemeral keys", malformed, `"epk":{}`)
	add("", "an ephemeral key with a coordinate twice", malformed, func(a *answer) {
		a.jwe = func(j *sealed) {
			j.named = func(b []byte) []byte { return bytes.Replace(b, []byte(`"x":`), []byte(`"x":"AAAA","x":`), 1) }
		}
	})
	for _, member := range []string{`"alg":"none"`, `"typ":"JWT"`, `"x5c":[]`} {
		name, _, _ := strings.Cut(member, ":")
		name = strings.Trim(name, `"`)
		add(formPID, "a PID's header with `"+name+"` twice", malformed, func(a *answer) { a.pid.named = inFront(member) })
		add(formPID, "a key binding's header with `"+name+"` twice", malformed, func(a *answer) {
			a.pid.boundHeader["x5c"] = []string{}
			a.pid.kbNamed = inFront(member)
		})
	}
	add(formPID, "a holder's key with a coordinate twice", malformed, func(a *answer) {
		a.pid.payload = func(b []byte) []byte { return bytes.Replace(b, []byte(`"x":`), []byte(`"x":"AAAA","x":`), 1) }
	})
	add(formPID, "a statement twice, true and false, in a PID", malformed, func(a *answer) {
		a.pid.states(ageClaim, json.RawMessage(`{"18":false,"18":true}`))
	})
	return sorted(all)
}

// inFront returns a change that puts members before those of an object.
func inFront(members string) func(object []byte) []byte {
	return func(object []byte) []byte { return before(object, members) }
}

// answeredTwice returns a change that answers a query of a vp_token twice.
func answeredTwice(query string) func(token []byte) []byte {
	return func(b []byte) []byte {
		member := `"` + query + `":[`
		return bytes.Replace(b, []byte(member), []byte(member+`"AAAA"],`+member), 1)
	}
}
