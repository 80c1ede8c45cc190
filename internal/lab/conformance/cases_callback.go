package conformance

import (
	"fmt"
	"html"
	"net/http"
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
			to := t.callback("/agegate-conformance/a%20b/?q=%26&r")
			t.create(t.test, fmt.Sprintf(`{"target_age":18,"success_url":%q,"cancel_url":%q}`, to, to), nil)
			u, err := url.Parse(to)
			if err != nil {
				t.fatalf("the registered Success URL does not parse")
			}
			upper := strings.ToUpper(u.Scheme) + "://" + strings.ToUpper(u.Host) + "/"
			t.create(t.test, fmt.Sprintf(`{"target_age":18,"success_url":%q}`, upper), nil)
			if u.Port() == "" {
				u.Host += map[string]string{"https": ":443", "http": ":80"}[u.Scheme]
			}
			t.create(t.test, fmt.Sprintf(`{"target_age":18,"success_url":%q}`, u.String()), nil)
		},
	},
	{
		Name: "callback.webhook_host", Title: "The registered Webhook URL's host and port may be those of a callback, too",
		needs: []need{needWebhookURL}, sessions: 1,
		Cites: []string{"SPEC 4.1 rule 1", "openapi.yaml createSession"},
		run: func(t *trial) {
			u, err := url.Parse(t.WebhookURL)
			if err != nil {
				t.fatalf("the Webhook URL given to this suite does not parse")
			}
			t.create(t.test, fmt.Sprintf(`{"target_age":18,"success_url":%q}`, u.Scheme+"://"+u.Host+"/agegate-conformance"),
				nil)
		},
	},
	{
		Name: "callback.unregistered", Title: "A callback on a host or port that is not registered is 422 at its field, " +
			"for test keys too",
		Cites: []string{"SPEC 4.1 rules 1 to 3", "SPEC 7", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			u, err := url.Parse(t.callback("/"))
			if err != nil {
				t.fatalf("the registered Success URL does not parse")
			}
			t.expect(call{operation: createSession, keys: t.test,
				body: fmt.Sprintf(`{"target_age":18,"success_url":%q}`, u.Scheme+"://"+canary+".example/")},
				http.StatusUnprocessableEntity, "unregisteredHost")
			foreign := canary + ".example"
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
					t.invalid(field+" on a host like the registered one",
						call{operation: createSession, keys: t.test,
							body: fmt.Sprintf(`{"target_age":18,%q:%q}`, field, u.Scheme+"://"+host+"/")},
						at("", "body", field))
				}
			}
			if u.Port() == "" { // the other scheme has another default port
				other := map[string]string{"https": "http", "http": "https"}[u.Scheme]
				t.invalid("success_url with the other scheme",
					call{operation: createSession, keys: t.test,
						body: fmt.Sprintf(`{"target_age":18,"success_url":%q}`, other+"://"+u.Host+"/")},
					at("", "body", "success_url"))
			}
		},
	},
	{
		Name: "callback.malformed", Title: "A callback that is not an absolute web address of at most 2,048 characters is " +
			"422 at its field",
		Cites: []string{"SPEC 4.1 rule 2", "SPEC 7", "openapi.yaml Limits", "openapi.yaml CreateSessionRequest"},
		run: func(t *trial) {
			base, err := url.Parse(t.callback("/"))
			if err != nil {
				t.fatalf("the registered Success URL does not parse")
			}
			long := base.String() + strings.Repeat("a", 2049-len(base.String()))
			for _, tt := range []struct{ value, kind string }{
				{`""`, ""}, {`"/` + canary + `"`, ""}, {`"` + canary + `"`, "url_parsing"}, {`"//` + base.Host + `/"`, ""},
				{`"javascript:alert(1)"`, ""},
				{`"ftp://` + base.Host + `/"`, "url_scheme"},
				{`"` + base.Scheme + `://user:` + canary + `@` + base.Host + `/"`, ""}, {`"https:///x"`, ""},
				{`"` + base.Scheme + `://` + base.Host + `/\\x"`, "url_parsing"}, {`"` + base.String() + `\u0000"`, "url_parsing"},
				{`"` + base.String() + ` x"`, "url_parsing"}, {`" ` + base.String() + `"`, ""}, {`"` + base.String() + ` "`, ""},
				{`"` + base.Scheme + `://größe.example/"`, ""}, {`"` + long + `"`, "url_too_long"}, {"7", "string_type"},
				{"null", "string_type"}, {"[]", "string_type"},
			} {
				for _, field := range []string{"success_url", "cancel_url"} {
					t.invalid(fmt.Sprintf("%s %.40s", field, tt.value),
						call{operation: createSession, keys: t.test, body: fmt.Sprintf(`{"target_age":18,%q:%s}`, field, tt.value)},
						at(tt.kind, "body", field))
				}
			}
		},
	},
	{
		Name: "callback.none_registered", Title: "Without a registered URL for an omitted destination a creation is 422 " +
			"missing at its field", needs: []need{needBare},
		Cites: []string{"SPEC 4.1 rule 2", "SPEC 7", "openapi.yaml createSession 422"},
		run: func(t *trial) {
			t.expect(call{operation: createSession, keys: []string{t.BareKey}, body: `{"target_age":18}`},
				http.StatusUnprocessableEntity, "nothingRegistered")
		},
	},
	{
		Name: "callback.longest", Title: "A callback of 2,048 characters is accepted", sessions: 1,
		Cites: []string{"openapi.yaml Limits"},
		run: func(t *trial) {
			base := t.callback("/agegate-conformance?x=")
			t.create(t.test, fmt.Sprintf(`{"target_age":18,"success_url":%q}`, base+strings.Repeat("a", 2048-len(base))), nil)
		},
	},
	{
		Name: "callback.own_success_url", Title: "A pass goes to the session's own success_url; its other parameters and " +
			"fragment are kept, the four are replaced", sessions: 1,
		Cites: []string{"SPEC 4.1 rule 4", "SPEC 4.4", "openapi.yaml Redirect token"},
		run: func(t *trial) {
			base := t.callback("/agegate-conformance/ok")
			s := t.create(t.test, fmt.Sprintf(`{"target_age":18,"success_url":%q}`, base+
				"?order=1042&token=old&is_adult=false&status=x&session=y&a=b%20c#paid"), nil)
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
			want := t.callback("/agegate-conformance/cancelled?case=fallback&x=1")
			ended := []*session{t.forced("fallback")}
			if slices.Contains(t.outcomes(), "spoof") {
				s := t.create(t.test, fmt.Sprintf(`{"target_age":18,"cancel_url":%q}`, want), nil)
				t.force(s, "spoof")
				ended = append(ended, s)
			}
			for _, s := range ended {
				page := html.UnescapeString(string(s.page.body))
				t.check(strings.Contains(page, `"`+want+`"`), "the page of a session that ended has no link to its cancel_url")
			}
		},
	},
}
