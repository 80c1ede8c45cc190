package security

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// registered are a shop's callback URLs. The test spells each of their hosts in
// many ways.
var registered = []string{
	"https://ship.example/ok", "https://xn--strae-oqa.example/back", "https://hooks.example:8443/hook",
}

// places asks the oracle for the host to which a browser goes for each URL; ""
// for none.
func places(t *testing.T, urls []string) []string {
	t.Helper()
	input, err := json.Marshal(urls)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/hosts.mjs")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []*string
	if err := json.Unmarshal(output, &list); err != nil || len(list) != len(urls) {
		t.Fatalf("the oracle answers %d of %d: %v", len(list), len(urls), err)
	}
	found := make([]string, len(list))
	for i, place := range list {
		if place != nil {
			found[i] = *place
		}
	}
	return found
}

// The gateway may refuse a URL that a browser understands, but must never accept
// one that takes a browser to another host.
func TestSpellingsOfCallbackHosts(t *testing.T) {
	table.Beside(t)
	r := table.New(t, "Spellings of callback hosts against the WHATWG parser")
	g := gatewaytest.Start(t, pgtest.URL(t), "AGEGATE_TEST_DAILY_CAP=-1")
	shop := g.Shop(t, registered[2], func(s *tenant.Tenant) { s.SuccessURL, s.CancelURL = registered[0], registered[1] })
	home := places(t, registered)
	equal, odd := spellings()
	count := len(equal) + len(odd)
	r.Didf("%d spellings", count)
	if count < 300 {
		t.Errorf("only %d spellings", count)
	}
	var elsewhere, unicode, refused []string
	for i, place := range places(t, slices.Concat(equal, odd)) {
		url := slices.Concat(equal, odd)[i]
		switch ok := accepted(t, g, shop.Test.APIKey, url); {
		case ok && !slices.Contains(home, place):
			elsewhere = append(elsewhere, fmt.Sprintf("%q goes to %q", url, place))
		case ok && strings.ContainsFunc(url, notASCII):
			unicode = append(unicode, fmt.Sprintf("%q", url))
		case !ok && i < len(equal):
			refused = append(refused, fmt.Sprintf("%q", url))
		}
	}
	r.None("accepted, but another host or port to a browser", elsewhere)
	r.None("accepted, but not in ASCII", unicode)
	r.None("plainly equal, but refused", refused)
}

func notASCII(c rune) bool { return c >= utf8.RuneSelf }

func accepted(t *testing.T, g *gatewaytest.Gateway, key, url string) bool {
	t.Helper()
	body, err := json.Marshal(map[string]any{"target_age": 18, "success_url": url})
	if err != nil {
		t.Fatal(err)
	}
	got := newWire(t, g.URL).insist(t, request{method: http.MethodPost, target: "/api/v1/sessions/create",
		body: string(body),
		header: []string{"Host: gateway.example", "X-API-Key: " + key, "Content-Type: application/json",
			"Connection: close"}})
	if got.status != http.StatusCreated && got.status != http.StatusUnprocessableEntity {
		t.Fatalf("%q: %s", url, got.raw)
	}
	return got.status == http.StatusCreated
}

// Every Unicode character in place of one letter of the host.
func TestEveryCharacterInACallbackHost(t *testing.T) {
	table.Beside(t)
	r := table.New(t, "Every character in the place of a letter of the host")
	rule := tenant.CallbackRule{}
	home := places(t, registered)
	var taken []string
	count := 0
	for c := rune(1); c <= 0x3ffff; c++ {
		if c >= 0xd800 && c < 0xe000 {
			continue
		}
		for _, form := range []string{"https://sh%sp.example/", "https://sh%sip.example/", "https://stra%se.example/",
			"https://hooks%sexample:8443/"} {
			count++
			url := fmt.Sprintf(form, string(c))
			if e, err := rule.Parse(url); err == nil && rule.Registered(e, registered) {
				taken = append(taken, url)
			}
		}
	}
	r.Didf("%d hosts", count)
	var elsewhere, unicode []string
	for i, place := range places(t, taken) {
		if strings.ContainsFunc(taken[i], notASCII) {
			unicode = append(unicode, fmt.Sprintf("%q", taken[i]))
		}
		if !slices.Contains(home, place) {
			elsewhere = append(elsewhere, fmt.Sprintf("%q goes to %q", taken[i], place))
		}
	}
	if len(taken) == 0 {
		t.Error("not even the plain spelling is accepted")
	}
	r.None("accepted, but another host or port to a browser", elsewhere)
	r.None("accepted, but not in ASCII", unicode)
}

// spellings returns URLs with the registered hosts that all parsers read in the
// same way, and URLs that parsers may read differently.
func spellings() (equal, odd []string) {
	for _, tail := range []string{"", "/", "/other", "/a/b/../c", "?x=1", "?x=https://evil.example", "/?a=b&c=d", "#top",
		"/%2e%2e/x", "/@evil.example", "/x:443"} {
		equal = append(equal, "https://ship.example"+tail, "https://SHIP.Example"+tail, "HTTPS://ship.example:443"+tail,
			"https://hooks.example:8443"+tail,
			"https://xn--strae-oqa.example"+tail, "https://XN--strae-OQA.example:443"+tail)
	}
	// Characters before, after and inside the authority.
	for _, c := range []string{
		" ", "\t", "\n", "\r", "\x00", "\x01", "\x7f", "\u00a0", "\u00ad", "\u200b", "\u200d", "\u2028", "\u2060", "\ufeff",
		"%20", "%09", "%00", "%2e", "%2f", "%40", "%3a",
		"/", "\\", "//", "\\\\", "@", ":", "?", "#", ";", ",", "!", "$", "&", "'", "(", ")", "*", "+", "=", "[", "]", "{",
		"}", "|", "^", "`", "\"", "<", ">", "~", "-", "_", ".", "..",
		"。", "．", "｡", "․", "：", "／", "＠", "？", "＃", "℀", "⁄", "∕",
	} {
		odd = append(odd, "https://ship.example"+c+"evil.example/", "https://evil.example"+c+"ship.example/", "https:"+c+
			"//ship.example/", "https://"+c+"ship.example/")
	}
	for _, host := range []string{
		"ship.example.", "ship.example..", ".ship.example", "ship..example", "www.ship.example", "ship.example.evil.example",
		"evilship.example", "ship.examples",
		"ship.exampl", "sh%69p.example", "ship%2eexample", "ｓｈｉｐ.example", "ship。example", "sh\u0130p.example",
		"sh\u0131p.example", "ѕhip.example", "shіp.example", "ship.eⅹample",
		"ⓢhip.example", "ｓhip.example", "%EF%BD%93hip.example", "straße.example", "straße.example:443", "stra%C3%9Fe.example",
		"straẞe.example", "strasse.example", "STRASSE.example", "stra\u0073\u0073e.example", "XN--STRAE-OQA.example",
		"xn--ship-.example", "xn--ship.example", "xn--ship-swc.example",
		"strasze.example", "straβe.example", "ship.example:443", "ship.example:0443", "ship.example:00443",
		"ship.example:+443", "ship.example:-443", "ship.example:443a", "ship.example:４４３",
		"ship.example:80", "ship.example:444", "ship.example:0", "ship.example:65979", "ship.example:", "ship.example::443",
		"ship.example:443:443", "ship.example:8443", "hooks.example:443",
		"hooks.example", "hooks.example:08443", "hooks.example:8443:", "user@ship.example", "ship.example@evil.example",
		"ship.example:443@evil.example", "evil.example:443@ship.example",
		":@ship.example", "@ship.example", "ship.example@", "[ship.example]", "[::1]", "[::ffff:1.2.3.4]", "127.0.0.1",
		"2130706433", "0x7f.1", "localhost", "",
	} {
		for _, scheme := range []string{"https://", "https:///", "https:/", "https:", "//", "http://", "hTTps://", "ftp://",
			"javascript://", "https:\\\\", " https://"} {
			odd = append(odd, scheme+host+"/")
		}
	}
	return equal, odd
}
