package conformance

import (
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
)

var callbackCases = []testCase{
	{
		Name: "callback.accepted", Title: "success_url and cancel_url may have any path and query on a registered host, in " +
			"either case of letters, with the port of the scheme or without", sessions: 3,
		Cites: []string{"SPEC 4.1 rule 1", "openapi.yaml createSession"},
		run: func(t *trial) {
			const path = "/agegate-conformance/a%20b/?q=%26&r"
			to, u := t.callback(path), t.registered()
			t.create(creation(fmt.Sprintf(`{"target_age":18,"success_url":%q,"cancel_url":%q}`, to, to)))
			upper := strings.ToUpper(u.Scheme) + "://" + strings.ToUpper(u.Host) + "/"
			t.create(creationTo("success_url", upper))
			if u.Port() == "" {
				to = u.Scheme + "://" + u.Host + map[string]string{"https": ":443", "http": ":80"}[u.Scheme] + path
			}
			t.create(creationTo("success_url", to))
		},
	},
	{
		Name: "callback.webhook_host", Title: "The registered Webhook URL's host and port may be those of a callback, too",
		needs: []*need{needWebhookURL}, sessions: 1,
		Cites: []string{"SPEC 4.1 rule 1", "openapi.yaml createSession"},
		run: func(t *trial) {
			u, err := url.Parse(t.WebhookURL)
			if err != nil {
				t.fatalf("the Webhook URL given to this suite does not parse")
			}
			t.create(creationTo("success_url", u.Scheme+"://"+u.Host+"/agegate-conformance"))
		},
	},
	{
		Name: "callback.unregistered", Title: "A callback on a host or port that is not registered is 422 at its field, " +
			"for test keys too",
		Cites: []string{"SPEC 4.1 rules 1 to 3", "SPEC 7", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			u := t.registered()
			const foreign = canary + ".example"
			t.expect(creationTo("success_url", u.Scheme+"://"+foreign+"/"), "422 unregisteredHost")
			hosts := []string{
				"x." + u.Host, "x" + u.Host, u.Host + "@" + foreign, u.Hostname() + "." + foreign, u.Hostname() + ":1",
				u.Hostname() + ".", strings.TrimSuffix(u.Hostname()+".:"+u.Port(), ":"),
				foreign + "#@" + u.Host, foreign + "?" + u.Host, foreign + "/" + u.Host,
			}
			if u.Port() != "" {
				hosts = append(hosts, u.Hostname()) // on the port of the scheme
			}
			for _, host := range hosts {
				for _, field := range []string{"success_url", "cancel_url"} {
					t.invalid(creationTo(field, u.Scheme+"://"+host+"/"), at("", "body", field))
				}
			}
			if u.Port() == "" { // the other scheme has another default port
				other := map[string]string{"https": "http", "http": "https"}[u.Scheme]
				t.invalid(creationTo("success_url", other+"://"+u.Host+"/"), at("", "body", "success_url"))
			}
		},
	},
	{
		Name: "callback.malformed", Title: "A callback that is not an absolute web address of at most 2,048 characters is " +
			"422 at its field",
		Cites: []string{"SPEC 4.1 rule 2", "SPEC 7", "openapi.yaml Limits", "openapi.yaml CreateSessionRequest"},
		run: func(t *trial) {
			u := t.registered()
			base, host := u.String(), u.Scheme+`://`+u.Host
			for _, tt := range []struct{ value, kind string }{
				{`""`, ""}, {`"/` + canary + `"`, ""}, {`"` + canary + `"`, "url_parsing"}, {`"//` + u.Host + `/"`, ""},
				{`"javascript:alert(1)"`, ""}, {`"ftp://` + u.Host + `/"`, "url_scheme"},
				{`"` + u.Scheme + `://user:` + canary + `@` + u.Host + `/"`, ""}, {`"https:///x"`, ""},
				{`"` + host + `/\\x"`, "url_parsing"}, {`"` + base + `\u0000"`, "url_parsing"},
				{`"` + base + ` x"`, "url_parsing"}, {`" ` + base + `"`, ""}, {`"` + base + ` "`, ""},
				{`"` + u.Scheme + `://größe.example/"`, ""},
				{`"` + base + strings.Repeat("a", 2049-len(base)) + `"`, "url_too_long"}, {"7", "string_type"},
				{"null", "string_type"}, {"[]", "string_type"},
			} {
				for _, field := range []string{"success_url", "cancel_url"} {
					t.invalid(creationWith(field, tt.value), at(tt.kind, "body", field))
				}
			}
		},
	},
	{
		Name: "callback.none_registered", Title: "Without a registered URL for an omitted destination a creation is 422 " +
			"missing at its field", needs: []*need{needBare},
		Cites: []string{"SPEC 4.1 rule 2", "SPEC 7", "openapi.yaml createSession 422"},
		run:   func(t *trial) { t.expect(creation(adult).by(t.BareKey), "422 nothingRegistered") },
	},
	{
		Name: "callback.longest", Title: "A callback of 2,048 characters is accepted", sessions: 1,
		Cites: []string{"openapi.yaml Limits"},
		run: func(t *trial) {
			base := t.callback("/agegate-conformance?x=")
			t.create(creationTo("success_url", base+strings.Repeat("a", 2048-len(base))))
		},
	},
	{
		Name: "callback.own_success_url", Title: "A pass goes to the session's own success_url; its other parameters and " +
			"fragment are kept, the four are replaced", sessions: 1,
		Cites: []string{"SPEC 4.1 rule 4", "SPEC 4.4", "openapi.yaml Redirect token"},
		run: func(t *trial) {
			base := t.callback("/agegate-conformance/ok")
			s := t.create(creationTo("success_url", base+
				"?order=1042&token=old&is_adult=false&status=x&session=y&a=b%20c#paid"))
			t.force(s, "verified")
			to := t.redirect(s)
			t.check(to.Scheme+"://"+to.Host+to.Path == base, "the redirect does not go to the session's success_url")
			q := to.Query()
			t.check(len(q) == 6 && q.Get("order") == "1042" && q.Get("a") == "b c" && to.Fragment == "paid",
				"the merchant's own parameters or fragment are not kept")
		},
	},
	{
		Name: "callback.own_cancel_url", Title: "The return action of the pages of a fallback and of a spoof uses the " +
			"session's cancel_url", sessions: 1,
		Cites: []string{"SPEC 3", "SPEC 4.4", "openapi.yaml CreateSessionRequest"},
		run: func(t *trial) {
			want := t.callback(cancelled)
			ended := []*session{t.forced("fallback")}
			if slices.Contains(t.outcomes(), "spoof") {
				s := t.create(creationTo("cancel_url", want))
				t.force(s, "spoof")
				ended = append(ended, s)
			}
			for _, s := range ended {
				page := html.UnescapeString(string(s.page.body))
				t.check(strings.Contains(page, `"`+want+`"`), "the page of a session that ended has no link to its cancel_url")
			}
		},
	},
	{
		Name: "callback.raw_query", Title: "A pass keeps the query of success_url byte for byte and in order, and replaces " +
			"the four parameters however they are escaped", sessions: 1,
		Cites: []string{"SPEC 4.4", "openapi.yaml Redirect token"},
		run: func(t *trial) {
			const path = "/agegate-conformance/a%2Fb%20c"
			const kept = "z=1&a=b+c%20d&e=&f&g;h=1&i=%2f&a=2&session_ref=3&Status=4&x-token=5&j=1%2B1"
			s := t.create(creationTo("success_url", t.callback(path+"?%74oken=old&"+kept+"&is%5Fadult=false")))
			t.force(s, "verified")
			var left []string
			to := t.redirect(s)
			t.check(to.EscapedPath() == path, "the path %s of success_url is %s in the redirect", path, to.EscapedPath())
			for pair := range strings.SplitSeq(to.RawQuery, "&") {
				name, _, _ := strings.Cut(pair, "=")
				if !slices.Contains([]string{"token", "session", "status", "is_adult"}, name) {
					left = append(left, pair)
				}
			}
			got := strings.Join(left, "&")
			t.check(got == kept, "of the query %s the redirect keeps %s", kept, got)
		},
	},
}
