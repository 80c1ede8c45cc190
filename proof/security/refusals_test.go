package security

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/session"
	"agegate/proof/table"
)

// TestRefusedDocuments repeatedly shows refused documents to a check, and begins
// something else before each refusal is applied.
func TestRefusedDocuments(t *testing.T) {
	table.Beside(t)
	onEach(t, "Documents shown after a refusal", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		shop := g.Shop(t, "", consenting)
		var endless, uncounted, passed []string
		shown := 0
		dodges := map[string]func(o owned){
			"nothing else":    func(owned) {},
			"wallet again":    func(o owned) { o.fill(t, "/document", url.Values{"choice": {"wallet"}}) },
			"another way":     func(o owned) { o.fill(t, "/document", url.Values{"choice": {"photo"}}) },
			"consent at once": func(o owned) { o.fill(t, "/photo", url.Values{"compare": {"yes"}}) },
		}
		for name, dodge := range dodges {
			o := begin(t, g, shop.Test.APIKey)
			link := o.page[strings.LastIndex(o.page, "/")+1:]
			sess, err := g.App.Sessions.ByLink(t.Context(), link)
			if err == nil {
				_, err = g.App.Sessions.Resolve(t.Context(), sess, session.NoEstimate(session.Claim{}))
			}
			if err != nil {
				t.Fatal(err)
			}
			taken := 0
			for range 10 {
				if !o.showsDocument(t, g, "12") {
					break
				}
				taken++
				dodge(o)
			}
			shown += taken
			ended, err := g.App.Sessions.ByLink(t.Context(), link)
			if err != nil {
				t.Fatal(err)
			}
			if taken > session.MaxDocuments || ended.Status != session.StatusFallback {
				endless = append(endless, name+": "+string(ended.Status))
			}
			if ended.DocumentAttempts != taken {
				uncounted = append(uncounted, name)
			}
			o.showsDocument(t, g, "40")
			o.fill(t, "/wallet", nil)
			if now, err := g.App.Sessions.ByLink(t.Context(), link); err != nil || now.Status == session.StatusPassed {
				passed = append(passed, name)
			}
		}
		r.Didf("%d refused documents, with %d ways to begin something else in between, and then a good one", shown,
			len(dodges))
		r.None("checks that go on after the third", endless)
		r.None("checks with refusals that were not counted", uncounted)
		r.None("passes after the third", passed)
	})
}

// fill sends a form of the session's page, or requests the page if there is no
// form, and returns the address it leads to.
func (o owned) fill(t *testing.T, path string, form url.Values) string {
	t.Helper()
	method := http.MethodPost
	if form == nil {
		method = http.MethodGet
	}
	address := o.page + path
	if strings.HasPrefix(path, "http") {
		address = path
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := o.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return string(body)
}

var sampleWallet = regexp.MustCompile(`href="(/sample-wallet/[^"]+)"`)

// showsDocument asks the sample wallet for a document of a person of an age, and
// reports whether the session accepted it.
func (o owned) showsDocument(t *testing.T, g *gatewaytest.Gateway, years string) bool {
	t.Helper()
	o.fill(t, "/wallet", nil) // applies the waiting answer
	o.fill(t, "/document", url.Values{"choice": {"wallet"}})
	sample := sampleWallet.FindStringSubmatch(o.fill(t, "/wallet", nil))
	if sample == nil {
		return false
	}
	o.fill(t, g.URL+sample[1], url.Values{"age": {years}})
	return true
}
