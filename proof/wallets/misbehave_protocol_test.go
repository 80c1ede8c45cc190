package wallets

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"agegate/internal/check/document/wallet"
)

// Reasons of the gateway, as its page's script gets them.
const (
	malformed     = string(wallet.ReasonMalformed)
	encryption    = string(wallet.ReasonEncryption)
	algorithm     = string(wallet.ReasonAlgorithm)
	otherKind     = string(wallet.ReasonDocType)
	wrongDevice   = string(wallet.ReasonDevice)
	notTaken400   = notTaken + " (400)"
	notTaken404   = notTaken + " (404)"
	notTaken405   = notTaken + " (405)"
	unverified    = "unverified" // what the browser's page says about most of them
	deniedByOwner = string(wallet.ReasonDeclined)
)

// protocolMisbehaviours are against OpenID4VP 1.0.
func protocolMisbehaviours() []misbehaviour {
	all := []misbehaviour{
		{"a member of the vp_token that is no query", "", func(a *answer) { a.queryID = "other" }, malformed},
		{"an empty name of the query", "", func(a *answer) { a.queryID = "" }, malformed},
		{"the query's name in capitals", "", func(a *answer) { a.queryID = "LICENCE" }, malformed},
		{"a proof of age under the licence's query", "", func(a *answer) { a.kind(wallet.DocTypeProofOfAge) }, otherKind},
		{"a licence under the proof of age's query", "", func(a *answer) { a.queryID = "age" }, otherKind},
		{"a photo ID under the ID pass's query", "", func(a *answer) {
			a.kind(wallet.DocTypePhotoID)
			a.queryID = "id-card"
		}, otherKind},
		{"a licence to av://", formProofOfAge, func(a *answer) { a.kind(wallet.DocTypeMDL) }, otherKind},
		{"a licence to av:// under its own query", formProofOfAge, func(a *answer) {
			a.kind(wallet.DocTypeMDL)
			a.queryID = "licence"
		}, malformed},
		{"not encrypted to direct_post.jwt", "", func(a *answer) {
			a.send = func(s *sending) { s.form = url.Values{"vp_token": {string(mustJSON(a.vpToken()))}} }
		}, malformed},
		{"a JWT that is not encrypted (alg none)", "", response(func(a *answer) string {
			return encode64(`{"alg":"none"}`) + "." + encode64(string(mustJSON(map[string]any{"vp_token": a.vpToken()}))) + "."
		}), malformed},
		{"encrypted to av://", formProofOfAge, func(a *answer) {
			a.send = func(s *sending) { s.form = url.Values{"response": {"a.b.c.d.e"}} }
		}, malformed},
		{"response and vp_token", "", func(a *answer) {
			a.send = func(s *sending) { s.form.Set("vp_token", string(mustJSON(a.vpToken()))) }
		}, malformed},
		{"two responses", "", func(a *answer) {
			a.send = func(s *sending) {
				s.form.Add("response",
					s.form.Get("response"))
			}
		}, malformed},
		{"two vp_tokens", formProofOfAge, func(a *answer) {
			a.send = func(s *sending) {
				s.form.Add("vp_token",
					s.form.Get("vp_token"))
			}
		}, malformed},
		{"an empty form", "", func(a *answer) { a.send = func(s *sending) { clear(s.form) } }, malformed},
		{"a holder who declines (access_denied)", "", func(a *answer) {
			a.send = func(s *sending) { s.form = url.Values{"error": {"access_denied"}} }
		}, deniedByOwner},
		{"a holder who declines, with a presentation", "",
			func(a *answer) { a.send = func(s *sending) { s.form.Set("error", "access_denied") } }, deniedByOwner},
		{"a holder who declines, encrypted", "",
			func(a *answer) { a.plain = func(p map[string]any) { p["error"] = "access_denied" } }, deniedByOwner},
		{"an unknown error", "", func(a *answer) { a.send = func(s *sending) { s.form = url.Values{"error": {"<script>"}} } },
			string(wallet.ReasonUnable)},
		{"another session's nonce", "", func(a *answer) { a.asIf(func(q *question) { q.nonce = strings.Repeat("A", 32) }) },
			wrongDevice},
		{"an empty nonce", "", func(a *answer) { a.asIf(func(q *question) { q.nonce = "" }) }, wrongDevice},
		{"the nonce decoded", "", func(a *answer) { a.asIf(func(q *question) { q.nonce += "=" }) }, wrongDevice},
		{"another client (wrong aud)", "", func(a *answer) { a.asIf(func(q *question) { q.clientID = "redirect_uri:https://other.example" }) }, wrongDevice},
		{"the client without its prefix", "", func(a *answer) {
			a.asIf(func(q *question) { q.clientID = strings.TrimPrefix(q.clientID, "redirect_uri:") })
		}, wrongDevice},
		{"another response_uri", "", func(a *answer) { a.asIf(func(q *question) { q.responseURI += "x" }) }, wrongDevice},
		{"no thumbprint of the key", "", func(a *answer) {
			q := a.request
			a.session = transcriptOf("OpenID4VPHandover", q.clientID, q.nonce, nil, q.responseURI)
		}, wrongDevice},
		{"another key's thumbprint", "", func(a *answer) {
			q := a.request
			a.session = transcriptOf("OpenID4VPHandover", q.clientID, q.nonce, make([]byte, 32), q.responseURI)
		}, wrongDevice},
		{"a transcript of another draft (draft 18)", "", func(a *answer) {
			q := a.request
			a.session = encode([]any{nil, nil, []any{[]byte(q.clientID), []byte(q.responseURI), q.nonce}})
		}, wrongDevice},
		{"the browser's transcript by link (InvalidSessionTranscript)", "", func(a *answer) {
			a.session = transcriptOf("OpenID4VPDCAPIHandover", verifyURL, a.request.nonce, make([]byte, 32))
		}, wrongDevice},
		{"Annex C's transcript by link", "", func(a *answer) { a.session = transcriptOf("dcapi", "", verifyURL) },
			wrongDevice},
		{"the transcript of an unsigned request to a signed one", formSigned, func(a *answer) {
			a.asIf(func(q *question) { q.clientID = "redirect_uri:" + q.responseURI })
		}, wrongDevice},
		{"another state", formSigned, func(a *answer) { a.plain = func(p map[string]any) { p["state"] = "other" } },
			malformed},
		{"a state that is a number", formSigned, func(a *answer) { a.plain = func(p map[string]any) { p["state"] = 1 } },
			malformed},
		{"an address of another request", "", func(a *answer) {
			a.send = func(s *sending) { s.to = s.to[:len(s.to)-1] + flipped(s.to[len(s.to)-1]) }
		}, notTaken400},
		{"the address of av://", "", func(a *answer) { a.send = func(s *sending) { s.to += "/av" } }, malformed},
		{"the address for this device", "", func(a *answer) { a.send = func(s *sending) { s.to += "/here" } }, wrongDevice},
		{"the address of the code", "", func(a *answer) {
			a.send = func(s *sending) { s.to = verifyURL + codePath + s.to[strings.LastIndexByte(s.to, '/')+1:] }
		}, wrongDevice},
		{"the address of a code that nobody showed", "", func(a *answer) {
			a.send = func(s *sending) { s.to = verifyURL + codePath + strings.Repeat("0", 32) }
		}, notTaken400},
		{"an address below", "", func(a *answer) { a.send = func(s *sending) { s.to += "/other" } }, notTaken404},
		{"the answer by GET", "", func(a *answer) {
			a.send = func(s *sending) { s.method, s.to, s.form = http.MethodGet, s.to+"?"+s.form.Encode(), nil }
		}, notTaken405},
		{"the answer in the query", "", func(a *answer) {
			a.send = func(s *sending) { s.to, s.form = s.to+"?"+s.form.Encode(), nil }
		}, malformed},
		{"the answer as JSON", "", func(a *answer) {
			a.send = func(s *sending) {
				s.contentType, s.body = "application/json", mustJSON(map[string]string{"response": s.form.Get("response")})
			}
		}, malformed},
		{"the answer as multipart", "", func(a *answer) {
			a.send = func(s *sending) {
				s.contentType = "multipart/form-data; boundary=x"
				s.body = []byte("--x\r\nContent-Disposition: form-data; name=\"response\"\r\n\r\n" + s.form.Get("response") +
					"\r\n--x--\r\n")
			}
		}, malformed},
		{"a body with broken escapes", "", func(a *answer) { a.send = func(s *sending) { s.body = []byte("response=%zz") } },
			notTaken400},
		{"a body of 10 MiB", "", func(a *answer) {
			a.send = func(s *sending) { s.body = []byte("response=" + strings.Repeat("a", 10<<20)) }
		}, notTaken400},
		{"a hundred thousand fields", "", func(a *answer) {
			a.send = func(s *sending) { s.body = []byte(strings.Repeat("&a", 90_000)) }
		}, notTaken400},
		{"a compressed body", "", func(a *answer) {
			a.send = func(s *sending) {
				s.header.Set("Content-Encoding", "gzip")
				s.body = []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")
			}
		}, malformed},
	}
	return append(all, tokenMisbehaviours()...)
}

// tokenMisbehaviours change the vp_token's structure.
func tokenMisbehaviours() (all []misbehaviour) {
	for name, edit := range map[string]func(token map[string]any) any{
		"a vp_token without presentations": func(map[string]any) any { return map[string]any{} },
		"a vp_token that is a list":        func(t map[string]any) any { return []any{t} },
		"a vp_token that is a text":        func(t map[string]any) any { return string(mustJSON(t)) },
		"a vp_token that is null":          func(map[string]any) any { return nil },
		"a vp_token that is a number":      func(map[string]any) any { return 1e308 },
		"two presentations": func(t map[string]any) any {
			return map[string]any{"licence": append(list(t),
				list(t)...)}
		},
		"two queries answered":                 func(t map[string]any) any { return with(t, "age", list(t)) },
		"no presentation in the list":          func(map[string]any) any { return map[string]any{"licence": []any{}} },
		"a presentation without its list":      func(t map[string]any) any { return map[string]any{"licence": list(t)[0]} },
		"a presentation that is an object":     func(map[string]any) any { return map[string]any{"licence": []any{map[string]any{}}} },
		"a presentation that is null":          func(map[string]any) any { return map[string]any{"licence": []any{nil}} },
		"a presentation in a list of lists":    func(t map[string]any) any { return map[string]any{"licence": []any{list(t)}} },
		"a presentation that is not base64url": func(map[string]any) any { return map[string]any{"licence": []any{"****"}} },
		"a presentation in base64 with new lines": func(t map[string]any) any {
			return map[string]any{"licence": []any{"\n" +
				list(t)[0].(string) + "$"}}
		},
		"a presentation in hexadecimal": func(map[string]any) any { return map[string]any{"licence": []any{"a0a0a"}} },
	} {
		all = append(all, misbehaviour{name, "", func(a *answer) { a.token = edit }, malformed})
	}
	return sorted(all)
}

func list(token map[string]any) []any { return token["licence"].([]any) }

func with(token map[string]any, name string, value any) map[string]any {
	token = maps.Clone(token)
	token[name] = value
	return token
}

// kind changes the kind of the document and keeps the query that it answers.
func (a *answer) kind(docType string) { a.docType, a.space = docType, namespaces[docType] }

// asIf makes the answer to a link as if the request had been another one.
func (a *answer) asIf(edit func(q *question)) {
	q := a.request
	edit(&q)
	thumbprint, err := q.key.Thumbprint(hash256)
	if err != nil {
		panic(err) // the key is good
	}
	a.session = transcriptOf("OpenID4VPHandover", q.clientID, q.nonce, thumbprint, q.responseURI)
}

// response replaces the encrypted response.
func response(made func(a *answer) string) func(*answer) {
	return func(a *answer) { a.send = func(s *sending) { s.form = url.Values{"response": {made(a)}} } }
}

func flipped(c byte) string {
	if c == '0' {
		return "1"
	}
	return "0"
}

func encode64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
