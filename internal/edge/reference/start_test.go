package reference_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"agegate/internal/edge/reference"
)

// TestStart: the first page leads to the dashboard and to the main parts of the
// documentation.
func TestStart(t *testing.T) {
	_, tiles, found := strings.Cut(get(t, serve(t)+"/"), `<ul class="tiles">`)
	tiles, _, _ = strings.Cut(tiles, "</ul>")
	for _, part := range []string{"integrate", "door", "reference", "errors", "operations"} {
		if !found || strings.Count(tiles, `href="/docs/`+part+`"`) != 1 {
			t.Errorf("no tile for %s", part)
		}
	}
	if n := strings.Count(tiles, "<li>"); n != 6 { // rows of three and of two are full
		t.Errorf("%d tiles, want 6", n)
	}
	if !strings.Contains(tiles, "https://desk.example/dashboard") {
		t.Error("no tile for the dashboard")
	}
}

// TestOperatorIsNamed: every page leads to the operator's imprint, and the first one sends
// back a shopper who came to it. What is not set is not shown.
func TestOperatorIsNamed(t *testing.T) {
	const imprint, privacy = "https://age.example/imprint", "https://age.example/privacy"
	for _, of := range []reference.Operator{{}, {Name: "Checks <&> Co", Imprint: imprint, Privacy: privacy}} {
		docs, err := reference.New(reference.Config{BaseURL: "https://age.example", Operator: of})
		if err != nil {
			t.Fatal(err)
		}
		e := echo.New()
		docs.Register(e)
		server := httptest.NewServer(e)
		defer server.Close()
		for _, path := range []string{"/", "/docs", "/docs/integrate", "/docs/reference"} {
			if got := strings.Contains(get(t, server.URL+path), `href="`+imprint+`"`); got != (of.Imprint != "") {
				t.Errorf("%s leads to the imprint: %v", path, got)
			}
		}
		_, line, _ := strings.Cut(get(t, server.URL+"/"), `data-testid="shoppers">`)
		line, _, _ = strings.Cut(line, "</p>")
		if named := strings.Contains(line, "Checks &lt;&amp;&gt; Co runs this age check."); named != (of.Name != "") ||
			!strings.Contains(line, "Go back to the shop") ||
			strings.Contains(line, `href="`+privacy+`"`) != (of.Privacy != "") {
			t.Errorf("a shopper reads %q", line)
		}
	}
}

// TestGroups: the navigation leads to all pages in their groups, and the first page of
// the documentation to a few for each kind of reader, each described.
func TestGroups(t *testing.T) {
	page := get(t, serve(t)+"/docs")
	_, nav, _ := strings.Cut(page, `id="contents"`)
	nav, landing, _ := strings.Cut(nav, "<main")
	link := regexp.MustCompile(`<summary>([^<]+)<|href="(/docs/[a-z-]+)"`)
	want := slices.Concat([]string{"Build", pages[1], pages[0]}, pages[2:9], []string{"Test"}, pages[9:13],
		[]string{"Go live"}, pages[13:17], []string{"For support and data protection"}, pages[17:20],
		[]string{"Operate"}, pages[20:])
	var found []string
	for _, m := range link.FindAllStringSubmatch(nav, -1) {
		found = append(found, m[1]+m[2])
	}
	if !slices.Equal(found, want) {
		t.Errorf("the navigation has\n%v, want\n%v", found, want)
	}
	doors := strings.Split(landing, "<section")[1:]
	if len(doors) != 4 {
		t.Errorf("%d doors", len(doors))
	}
	for _, name := range []string{"upgrade", "configure"} {
		if !strings.Contains(doors[2], `href="/docs/`+name+`"`) {
			t.Errorf("an operator's door has no %s", name)
		}
	}
	for _, door := range doors {
		door, _, _ = strings.Cut(door, "</section>")
		n := len(link.FindAllString(door, -1))
		if n < 3 || n > 7 || strings.Count(door, "<span>") != n || strings.Contains(door, "<span></span>") {
			t.Errorf("a door has %d pages, or one is not described: %s", n, door)
		}
	}
}

// TestFirstSteps: the first page leads to the sample shop, and says how the first
// account is made, while there is none.
func TestFirstSteps(t *testing.T) {
	const steps, shop, link = `data-testid="first-steps"`, `href="http://localhost:8081"`, "agegate user setup-link"
	setup := func(needed bool, err error) func(context.Context) (bool, error) {
		return func(context.Context) (bool, error) { return needed, err }
	}
	for name, tt := range map[string]struct {
		shop     string
		setup    func(context.Context) (bool, error)
		has, not []string
	}{
		"neither":         {"", nil, nil, []string{steps, shop, link}},
		"set up":          {"", setup(false, nil), nil, []string{steps, shop, link}},
		"not set up":      {"", setup(true, nil), []string{steps, link}, []string{shop}},
		"nobody knows":    {"", setup(false, errors.New("no database")), nil, []string{steps, shop, link}},
		"demo":            {"http://localhost:8081", setup(true, nil), []string{steps, shop, link}, nil},
		"demo, once used": {"http://localhost:8081", setup(false, nil), []string{steps, shop}, []string{link}},
	} {
		docs, err := reference.New(reference.Config{
			BaseURL: "https://age.example", DashboardURL: "https://desk.example/dashboard", NeedsSetup: tt.setup,
			SampleShop: tt.shop,
		})
		if err != nil {
			t.Fatal(err)
		}
		e := echo.New()
		docs.Register(e)
		rec := httptest.NewRecorder()
		e.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil))
		for _, text := range tt.has {
			if !strings.Contains(rec.Body.String(), text) {
				t.Errorf("%s: the page lacks %s", name, text)
			}
		}
		for _, text := range tt.not {
			if strings.Contains(rec.Body.String(), text) {
				t.Errorf("%s: the page has %s", name, text)
			}
		}
	}
}
