package conformance

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"agegate/internal/lab/suite"
)

// consent opens the pages up to the disclosure, like a shopper, and accepts it.
func consent(t *trial) {
	s, disclosure := t.disclosure()
	box := disclosure.input("share")
	t.check(box["type"] == "checkbox", "the disclosure is not a checkbox")
	_, ticked := box["checked"]
	t.check(!ticked, "the disclosure is ticked before the shopper sees it")
	t.detectedAge(s.ID, "not_consented")
	t.tick(s, disclosure, "share")
	t.detectedAge(s.ID, "pending")
	t.force(s, "verified")
	t.detectedAge(s.ID, "not_estimated")
}

// consentedExpired accepts the disclosure and lets the session expire.
func consentedExpired(t *trial) {
	s, disclosure := t.disclosure()
	t.tick(s, disclosure, "share")
	t.expire(s)
	t.detectedAge(s.ID, "not_estimated") // before a lookup has written EXPIRED
	t.is("EXPIRED", s, "after a move of the clock")
	t.detectedAge(s.ID, "not_estimated")
}

// disclosure creates a session and opens its pages up to the disclosure, whose
// form it returns. It ends the case if there is no disclosure.
func (t *trial) disclosure() (*session, *form) {
	s := t.fresh()
	s.browser = newBrowser()
	start := findForm(t.reopen(s, "").body)
	if start == nil {
		t.endf(suite.Skipped, "the hosted page offers no camera check now")
	}
	asked := t.submit(s, start, nil)
	if asked.input("share") == nil {
		t.endf(suite.Skipped, "needs a tenant with estimated age visibility on")
	}
	return s, asked
}

// form is an HTML form on a page.
type form struct {
	action string
	inputs []map[string]string // attributes of inputs and buttons, by name
}

// input returns the first input or button with a name, or nil.
func (f *form) input(name string) map[string]string {
	if f == nil {
		return nil
	}
	for _, i := range f.inputs {
		if i["name"] == name {
			return i
		}
	}
	return nil
}

// findForm returns the first form of a page with the method POST, or nil.
func findForm(page []byte) *form {
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil
	}
	for n := range root.Descendants() {
		if a := attributes(n); n.Type == html.ElementNode && n.Data == "form" &&
			strings.EqualFold(a["method"], http.MethodPost) {
			f := &form{action: a["action"]}
			for i := range n.Descendants() {
				if i.Type == html.ElementNode && (i.Data == "input" || i.Data == "button") {
					f.inputs = append(f.inputs, attributes(i))
				}
			}
			return f
		}
	}
	return nil
}

func attributes(n *html.Node) map[string]string {
	a := map[string]string{}
	for _, attribute := range n.Attr {
		a[attribute.Key] = attribute.Val
	}
	return a
}

// tick submits a form with its checkbox ticked.
func (t *trial) tick(s *session, f *form, name string) {
	t.submit(s, f, url.Values{name: {f.input(name)["value"]}})
}

// submit posts values of a form of a session's page in the session's browser, follows the
// redirect, and returns the first form of the next page, or nil.
func (t *trial) submit(s *session, f *form, values url.Values) *form {
	page, err := url.Parse(s.VerificationURL)
	if err != nil {
		t.fatalf("the verification_url does not parse")
	}
	target, err := page.Parse(f.action)
	if err != nil {
		t.fatalf("a form of the hosted page has no usable action")
	}
	got, err := t.request(s.browser, http.MethodPost, target.String(), http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {page.Scheme + "://" + page.Host},
	}, strings.NewReader(values.Encode()))
	if err != nil {
		t.fatalf("a form of the hosted page is not answered: %v", err)
	}
	if next, err := target.Parse(got.header.Get("Location")); err == nil && got.header.Get("Location") != "" &&
		next.Host == page.Host {
		got = t.open(s.browser, next.String())
	}
	t.check(got.status == http.StatusOK, "a form of the hosted page leads to %d", got.status)
	return findForm(got.body)
}
