package door

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"
)

//go:embed texts.json
var textsJSON []byte // by language and key; but for "door.…", copies of the gateway's

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// view is what a page shows.
type view struct {
	Page string // check, onward, failed, expired, busy, unavailable, unchecked or blocked
	To   string // the target on the site to which the button leads in the end
	URL  string // where the page leads by itself or by a link
	Age  int    // that is asked

	Begin, Lang, Dir, Exit string
	Test                   bool
	CSS                    template.CSS
}

type pages struct {
	cfg     *Config
	texts   map[string]map[string]string
	tags    []string
	matcher language.Matcher
	policy  string
	html    *template.Template
}

func newPages(cfg *Config) (*pages, error) {
	p := &pages{cfg: cfg}
	if err := json.Unmarshal(textsJSON, &p.texts); err != nil {
		return nil, err
	}
	for tag := range p.texts {
		if tag != "en" {
			p.tags = append(p.tags, tag)
		}
	}
	slices.Sort(p.tags)
	p.tags = append([]string{"en"}, p.tags...) // the default
	var tags []language.Tag
	for _, tag := range p.tags {
		tags = append(tags, language.Make(tag))
	}
	p.matcher = language.NewMatcher(tags)
	style := sha256.Sum256([]byte(pageCSS))
	p.policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	var err error
	p.html, err = template.New("page").Funcs(template.FuncMap{"t": p.text}).Parse(pageHTML)
	return p, err
}

// text returns a text of the catalogue for a page.
func (p *pages) text(v view, key string) string {
	return strings.NewReplacer("{age}", strconv.Itoa(v.Age), "{merchant}", p.cfg.Name).Replace(p.texts[v.Lang][key])
}

// show answers with a page in the visitor's language.
func (p *pages) show(w http.ResponseWriter, r *http.Request, status int, v view) {
	accepted, _, _ := language.ParseAcceptLanguage(r.Header.Get("Accept-Language")) // nil if it cannot be read
	_, index, _ := p.matcher.Match(accepted...)
	v.Lang, v.Dir, v.Begin, v.Exit = p.tags[index], "ltr", Prefix+"begin", p.cfg.Exit
	if v.Lang == "ar" {
		v.Dir = "rtl"
	}
	v.Test, v.CSS = !p.cfg.Live(), template.CSS(pageCSS) //nolint:gosec // a constant
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Language", v.Lang)
	header.Set("Content-Security-Policy", p.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	header.Set("Vary", "Cookie, Accept-Language, User-Agent")
	w.WriteHeader(status)
	_ = p.html.Execute(w, v) // only the connection can fail
}
