package reference_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"
	"golang.org/x/net/html"

	"agegate"
	"agegate/internal/edge/contract"
	"agegate/internal/edge/reference"
	"agegate/internal/gatewaytest"
)

// pages are the pages of the reference.
var pages = []string{
	"/docs/reference", "/docs/integrate", "/docs/clients", "/docs/frameworks", "/docs/verify-token",
	"/docs/verify-webhook", "/docs/door", "/docs/wordpress",
	"/docs/errors", "/docs/test-outcomes", "/docs/localhost", "/docs/certify", "/docs/staging", "/docs/go-live",
	"/docs/laws", "/docs/expect", "/docs/document", "/docs/support", "/docs/privacy", "/docs/evidence", "/docs/operations",
	"/docs/one-shop", "/docs/compose", "/docs/install", "/docs/configure", "/docs/certificates", "/docs/tenants",
	"/docs/staff",
	"/docs/issuers",
	"/docs/back-up", "/docs/upgrade", "/docs/grow", "/docs/stored", "/docs/watch", "/docs/trouble",
	"/docs/compatibility", "/docs/changelog",
}

// translated are the pages in other languages, which are not in the navigation.
var translated = []string{"/docs/support.de"}

// serve serves the reference without the API.
func serve(t *testing.T) string {
	t.Helper()
	docs, err := reference.New(reference.Config{
		BaseURL: "https://age.example", DashboardURL: "https://desk.example/dashboard",
	})
	if err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	docs.Register(e)
	e.HTTPErrorHandler = func(err error, c echo.Context) { docs.Error(c, statusOf(err)) }
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return server.URL
}

// statusOf returns the status of echo's error.
func statusOf(err error) int {
	if known, ok := errors.AsType[*echo.HTTPError](err); ok {
		return known.Code
	}
	return http.StatusInternalServerError
}

// get returns the body of an answer that must be 200.
func get(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", address, res.StatusCode, err)
	}
	return string(body)
}

// elements returns the elements of a page in their order.
func elements(t *testing.T, page string) []*html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var all []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			all = append(all, n)
		}
	}
	return all
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// resolved returns the address of a link on the page at a path.
func resolved(t *testing.T, path, link string) string {
	t.Helper()
	base, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	to, err := base.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return to.String()
}

// TestLinks: each link of each page leads to an existing page, document or
// anchor, and each heading has an anchor that no other has.
func TestLinks(t *testing.T) {
	base := serve(t)
	anchors := map[string]bool{}
	links := map[string]string{} // from each link to the page that contains it
	for _, path := range slices.Concat([]string{"/", "/docs"}, pages, translated) {
		anchors[path] = true
		for _, n := range elements(t, get(t, base+path)) {
			if id := attribute(n, "id"); id != "" {
				if anchors[path+"#"+id] {
					t.Errorf("%s has two elements with the ID %s", path, id)
				}
				anchors[path+"#"+id] = true
			}
			if regexp.MustCompile("^h[2-6]$").MatchString(n.Data) {
				link := n.FirstChild
				if id := attribute(n, "id"); id == "" || link == nil || attribute(link, "href") != "#"+id {
					t.Errorf("%s: the heading %q does not link to itself", path, id)
				}
			}
			for _, name := range []string{"href", "src", "srcset"} {
				if to := attribute(n, name); to != "" {
					links[resolved(t, path, to)] = path
				}
			}
			if attribute(n, "style") != "" || n.Data == "style" || n.Data == "script" && n.FirstChild != nil {
				t.Errorf("%s has a style or a script inline", path)
			}
		}
	}
	for to, from := range links {
		plain, _ := url.PathUnescape(to) // an anchor in German
		switch {
		case anchors[plain] || strings.HasPrefix(to, "https://"):
		case strings.Contains(to, "#"):
			t.Errorf("%s links to %s, which is not there", from, to)
		default:
			get(t, base+to)
		}
	}
	var index []struct{ Title, URL string }
	if err := json.Unmarshal([]byte(get(t, base+indexOf(t, base))), &index); err != nil || len(index) < 200 {
		t.Errorf("the index of the search has %d entries, %v", len(index), err)
	}
	path := ""
	for _, e := range index { // the script completes the addresses so
		own, anchor, found := strings.Cut(e.URL, "#")
		if found {
			path = own
		} else {
			anchor = e.URL
		}
		if anchor == "" {
			anchor = strings.ReplaceAll(strings.ToLower(e.Title), " ", "-")
			anchor = regexp.MustCompile(`^(\d{3}):.*|[^\p{L}\p{N}_-]`).ReplaceAllString(anchor, "$1")
		}
		if !anchors[path+"#"+anchor] || e.Title == "" {
			t.Errorf("the search leads to %+v", e)
		}
	}
}

// TestOwnAddress: the guides name this gateway, so that their commands can be copied.
func TestOwnAddress(t *testing.T) {
	base := serve(t)
	for path, want := range map[string]string{
		"/docs/integrate":    "export AGEGATE_URL=https://age.example\n",
		"/docs/integrate.md": "export AGEGATE_URL=https://age.example\n",
		"/docs/clients.md":   "export AGEGATE_URL=https://age.example ",
		"/docs/door.md":      "AGEGATE_URL=https://age.example\n",
		"/docs/localhost.md": "export AGEGATE_URL=https://age.example\n",
	} {
		page := html.UnescapeString(regexp.MustCompile("</?span[^>]*>").ReplaceAllString(get(t, base+path), ""))
		if !strings.Contains(page, want) || strings.Contains(page, "age.example.com") {
			t.Errorf("%s lacks %q, or names another gateway", path, want)
		}
	}
}

// TestEveryGuideIsAPage: each document for integrators is a page, and each file
// beside them is linked to and served as it is.
func TestEveryGuideIsAPage(t *testing.T) {
	base := serve(t)
	guides, err := fs.Glob(agegate.Docs, "docs/guides/*.md")
	if err != nil || len(guides) == 0 {
		t.Fatalf("%d guides, %v", len(guides), err)
	}
	all := ""
	for _, guide := range guides {
		path := "/docs/" + strings.TrimSuffix(filepath.Base(guide), ".md")
		if !slices.Contains(slices.Concat(pages, translated), path) {
			t.Errorf("the pages tested lack %s", path)
		}
		all += get(t, base+path)
	}
	files, err := fs.Glob(agegate.Docs, "docs/guides/*/*")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d files beside the guides, %v", len(files), err)
	}
	for _, file := range files {
		content, err := agegate.Docs.ReadFile(file)
		path := strings.Replace(file, "docs/guides", "/docs", 1)
		if err != nil || get(t, base+path) != string(content) || !strings.Contains(all, `href="`+path+`"`) {
			t.Errorf("%s: %v; it is not served as it is, or no page links to it", file, err)
		}
	}
}

// TestMarkdown: every page also exists in Markdown, and llms.txt lists them
// all.
func TestMarkdown(t *testing.T) {
	base := serve(t)
	list := get(t, base+"/llms.txt")
	link := regexp.MustCompile(`\]\((/docs/[^)#]+)`)
	for _, path := range slices.Concat(pages, translated) {
		path += ".md"
		if !strings.Contains(list, "(https://age.example"+path+")") {
			t.Errorf("llms.txt does not list %s", path)
		}
		text := get(t, base+path)
		if !strings.HasPrefix(text, "# ") {
			t.Errorf("%s does not begin with a heading", path)
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			get(t, base+m[1])
		}
	}
	for _, id := range []string{"/api/v1/sessions/create", "/status", "/detected-age", "webhook-signature", "Known answer",
		"- `session_id` (string, uuid, required): The session's ID.", "`status_at` is when it took effect"} {
		if !strings.Contains(get(t, base+"/docs/reference.md"), id) {
			t.Errorf("the reference in Markdown lacks %q", id)
		}
	}
}

// TestEveryDetailHasItsHeading checks every answer that the contract describes:
// the examples of every refusal, the types of violations, and the details of
// paths outside it. internal/gatewaytest applies the same check to every answer
// that a test gets.
func TestEveryDetailHasItsHeading(t *testing.T) {
	doc, err := contract.Read(agegate.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"Not Found": true, "Method Not Allowed": true, "Bad Request": true}
	types := doc.Components.Schemas["Violation"].Value.Properties["type"].Value.Description
	for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(types, -1) {
		want[m[1]] = true
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				if status < "4" {
					continue
				}
				for _, media := range response.Value.Content {
					for _, e := range media.Examples {
						body, err := json.Marshal(e.Value.Value)
						if err != nil {
							t.Fatal(err)
						}
						for _, name := range gatewaytest.ErrorDetails(body) {
							want[name] = true
						}
					}
				}
			}
		}
	}
	if len(want) < 30 {
		t.Errorf("the contract has only %d details", len(want))
	}
	headings := reference.Headings()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if headings[name] == "" {
			t.Errorf("docs/guides/errors.md has no heading %q", name)
		}
	}
	if len(gatewaytest.ErrorDetails(nil)) > 0 || len(gatewaytest.ErrorDetails([]byte(`{"status":"PASSED"}`))) > 0 {
		t.Error("an answer that is no error has details")
	}
	if headings["No such detail"] != "" || headings["404"] != "" {
		t.Error("a heading is found for anything")
	}
}

// TestPolicy: the pages load nothing from other servers, run no inline script,
// and are small.
func TestPolicy(t *testing.T) {
	base := serve(t)
	total := 0
	paths := append(slices.Clone(pages), indexOf(t, base), "/docs/support.de.md")
	for _, m := range regexp.MustCompile(`(?:href|src)="(/docs/static/[^"]+)"`).FindAllStringSubmatch(get(t,
		base+"/docs/reference"), -1) {
		paths = append(paths, m[1])
	}
	if len(paths) != len(pages)+6 {
		t.Errorf("the page names %v", paths[len(pages)+2:])
	}
	for _, path := range paths {
		req, err := http.NewRequest(http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "gzip")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %v", path, res.StatusCode, err)
		}
		if slices.Contains(pages, path) {
			policy := res.Header.Get("Content-Security-Policy")
			if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: policy %s", path, policy)
			}
		}
		if strings.HasSuffix(path, ".de.md") { // for the search of pages in German; with replies to copy
			if t.Logf("the texts in German: %d bytes compressed", body.Len()); body.Len() > 10_000 {
				t.Errorf("the texts in German have %d bytes, want at most 10,000", body.Len())
			}
		} else if path == "/docs/reference" || !slices.Contains(pages, path) {
			total += body.Len()
		}
	}
	t.Logf("the reference, its files and the index of the search: %d bytes compressed", total)
	if total > 100_000 {
		t.Errorf("the reference has %d bytes, want at most 100,000", total)
	}
}

// TestEveryRouteAnswers: the first requests come at the same time, and each route
// has its own page or document.
func TestEveryRouteAnswers(t *testing.T) {
	docs, err := reference.New(reference.Config{BaseURL: "https://age.example"})
	if err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	docs.Register(e)
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	var paths []string
	for _, r := range e.Routes() {
		if r.Method == http.MethodGet && !strings.Contains(r.Path, "*") {
			paths = append(paths, r.Path)
		}
	}
	bodies := make([]string, len(paths))
	var all sync.WaitGroup
	for i, path := range paths {
		all.Go(func() {
			res, err := http.Get(server.URL + path)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusOK || len(body) == 0 {
				t.Errorf("%s: %d %v", path, res.StatusCode, err)
			}
			bodies[i] = string(body)
		})
	}
	all.Wait()
	slices.Sort(bodies)
	if len(paths) < 2*len(pages) || len(slices.Compact(bodies)) != len(paths) {
		t.Errorf("%v: two routes have the same answer, or routes are missing", paths)
	}
}
