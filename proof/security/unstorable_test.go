package security

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/proof/table"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// unstorable is text that PostgreSQL cannot store: with a NUL, and not UTF-8.
var unstorable = []string{"a\x00b", "a\xff\xfeb"}

// TestUnstorableText sends text that no database stores in every parameter of
// every route: in the path, the query, the form, JSON bodies, headers and cookies.
// The routes are those that the gateway serves; the names are those that its
// source reads.
func TestUnstorableText(t *testing.T) {
	table.Beside(t)
	names, members := readNames(t), readMembers(t)
	onEach(t, "Text with a NUL or not in UTF-8", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		table.Beside(t)
		a := &unstorableText{t: t, g: g, shop: g.Shop(t, "", consenting).Tenant.ID, sent: map[string]int{}}
		a.key = g.Shop(t, "", consenting).Test.APIKey
		c := g.Create(t, a.key, 18)
		a.link, a.session = c.VerificationURL[strings.LastIndex(c.VerificationURL, "/")+1:], c.SessionID
		routes := g.App.Routes()
		for i, route := range routes {
			if strings.HasSuffix(route.Path, "/stream") {
				continue
			}
			a.attack(route, names, i)
			if route.Method == http.MethodPost &&
				(strings.HasPrefix(route.Path, "/api/") || strings.Contains(route.Path, "/wallet/")) {
				a.attackJSON(route, members)
			}
		}
		r.Didf("%v over %d routes with %d names of fields", a.sent, len(routes), len(names))
		r.None("answers of 5xx", a.failed)
		r.None("errors in the log", linesWith(g.Log.String(), "level=ERROR"))
	})
}

var readsName = regexp.MustCompile(`(?:QueryParam|FormValue|Get|cursor|Value)\("([a-z_]+)"\)|name: +"([a-z_]+)", kind:`)

// readNames returns the names of fields that the pages and the API read.
func readNames(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	for _, room := range []string{"pages", "edge"} {
		err := filepath.WalkDir("../../internal/"+room, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, match := range readsName.FindAllStringSubmatch(string(source), -1) {
				found[match[1]+match[2]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 40 {
		t.Fatalf("only %d names were found", len(found))
	}
	return slices.Sorted(maps.Keys(found))
}

type unstorableText struct {
	t             *testing.T
	g             *gatewaytest.Gateway
	shop          uuid.UUID
	key           string // of the API
	link, session string
	sent          map[string]int // by place
	failed        []string
}

// attack sends the text to one route, as a user who may open it.
func (a *unstorableText) attack(route *echo.Route, names []string, turn int) {
	staff := a.g.SignIn(a.t, true, account.ByPasskey)
	a.g.Join(a.t, staff, a.shop, account.Owner)
	a.g.StepUp(a.t, staff)
	parameters := parameter.FindAllString(route.Path, -1)
	for i := range parameters {
		for _, text := range unstorable {
			a.send(staff, "path", route, a.fill(route.Path, i, text), nil, nil)
		}
	}
	path := a.fill(route.Path, -1, "")
	for i, name := range names {
		if !table.Full() && (turn+i)%6 != 0 { // the short form sends each name to every sixth route
			continue
		}
		for _, text := range unstorable {
			switch route.Method {
			case http.MethodGet:
				a.send(staff, "query", route, path+"?"+url.Values{name: {text}}.Encode(), nil, nil)
			case http.MethodPost:
				a.send(staff, "form", route, path, url.Values{"nonce": {uuid.NewString()}, name: {text}}, nil)
			}
		}
	}
	for _, name := range []string{"Accept-Language", "Cookie", "Idempotency-Key", "Origin", "Referer", "User-Agent",
		"X-API-Key", "X-Request-Id"} {
		value := unstorable[1]
		if name == "Cookie" {
			value = "agegate-user=" + value + "; agegate-device=" + value + "; agegate=" + value
		}
		a.send(staff, "header", route, path, nil, map[string]string{name: value})
	}
}

// inJSON is the same text within a JSON string: escaped, as the bytes
// themselves, and as half of a pair of surrogates.
var inJSON = []string{`a\u0000b`, "a\x00b", "a\xff\xfeb", `a\ud800b`}

var memberTag = regexp.MustCompile("`json:\"([a-z_]+)")

// readMembers returns the members that bodies of the API have.
func readMembers(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("../../gen/api.gen.go")
	if err != nil {
		t.Fatal(err)
	}
	var members []string
	for _, match := range memberTag.FindAllStringSubmatch(string(source), -1) {
		members = append(members, match[1])
	}
	slices.Sort(members)
	if members = slices.Compact(members); len(members) < 10 {
		t.Fatalf("only the members %v were found", members)
	}
	return members
}

// attackJSON sends the text to one route of the API or of wallets as values of JSON
// members, within addresses, and as names.
func (a *unstorableText) attackJSON(route *echo.Route, members []string) {
	path := a.fill(route.Path, -1, "")
	for _, text := range inJSON {
		a.sendJSON(route, path, `{"target_age":18,"`+text+`":1}`)
		a.sendJSON(route, path, `"`+text+`"`)
		for _, member := range members {
			for _, value := range []string{text, "https://shop.example/" + text, "https://" + text + ".example/"} {
				a.sendJSON(route, path, `{"target_age":18,"`+member+`":"`+value+`"}`)
			}
		}
	}
}

func (a *unstorableText) sendJSON(route *echo.Route, path, body string) {
	a.sent["json"]++
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.g.URL+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-Key", a.key)
	req.Header.Set("Idempotency-Key", uuid.NewString())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode >= http.StatusInternalServerError {
		a.failed = append(a.failed, fmt.Sprintf("%d json %s %q", res.StatusCode, path, body))
	}
}

// fill fills in a route's parameters. The one at index gets text.
func (a *unstorableText) fill(path string, index int, text string) string {
	i := -1
	return parameter.ReplaceAllStringFunc(path, func(name string) string {
		i++
		switch {
		case i == index:
			return url.PathEscape(text)
		case name == ":tenant":
			return a.shop.String()
		case name == ":mode":
			return "test"
		case name == ":token":
			return a.link
		case name == ":session_id", name == ":session":
			return a.session
		}
		return uuid.NewString()
	})
}

func (a *unstorableText) send(
	staff *gatewaytest.Staff, place string, route *echo.Route, path string, form url.Values, header map[string]string,
) {
	a.sent[place]++
	all := map[string]string{"Sec-Fetch-Site": "same-origin"}
	maps.Copy(all, header)
	res, _ := staff.Send(a.t, route.Method, path, form, all)
	if res.StatusCode >= http.StatusInternalServerError {
		a.failed = append(a.failed, fmt.Sprintf("%d %s %s %s", res.StatusCode, place, route.Method, path+" "+form.Encode()))
	}
}
