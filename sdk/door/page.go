package door

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"math"
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

	Lang, Dir string
	Tags      []string // the languages
	Live      bool
	Referrer  string // what the next page learns of this one
	CSS       template.CSS
	Config    *Config
}

type pages struct {
	cfg     *Config
	texts   map[string]map[string]string
	tags    []string
	matcher language.Matcher
	css     string
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
	p.css = pageCSS + cfg.paint()
	style := sha256.Sum256([]byte(p.css))
	p.policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) +
		"'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	var err error
	p.html, err = template.New("page").Funcs(template.FuncMap{"t": p.text,
		"name": func(tag string) string { return p.texts[tag]["door.language"] }}).Parse(pageHTML)
	return p, err
}

// text returns a text of the catalogue for a page.
func (p *pages) text(v view, key string) string {
	return strings.NewReplacer("{age}", strconv.Itoa(v.Age), "{merchant}", p.cfg.Name).Replace(p.texts[v.Lang][key])
}

// chosen returns the language that a visitor chose on the door's page, or "".
func (p *pages) chosen(r *http.Request) string {
	tag := r.URL.Query().Get("lang")
	if strings.HasPrefix(r.URL.Path, Prefix) && slices.Contains(p.tags, tag) {
		return tag
	}
	return ""
}

// paint returns the style of the site's colour. White or black is readable on any.
func (c *Config) paint() string {
	if c.Colour == "" {
		return ""
	}
	on, luminance := "#000", 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} { // WCAG 2.2
		channel, _ := strconv.ParseUint(c.Colour[1+2*i:3+2*i], 16, 8) // Load has checked it
		luminance += weight * math.Pow((float64(channel)/255+0.055)/1.055, 2.4)
	}
	if luminance < 0.179 {
		on = "#fff"
	}
	return ":root:root { --button: " + c.Colour + "; --on-button: " + on + "; }\n"
}

// show answers with a page in the visitor's language.
func (p *pages) show(w http.ResponseWriter, r *http.Request, status int, v view) {
	if v.Lang = p.chosen(r); v.Lang == "" {
		accepted, _, _ := language.ParseAcceptLanguage(r.Header.Get("Accept-Language")) // nil if it cannot be read
		_, index, _ := p.matcher.Match(accepted...)
		v.Lang = p.tags[index]
	}
	v.Dir, v.Tags, v.Config, v.Live = "ltr", p.tags, p.cfg, p.cfg.Live()
	if v.Lang == "ar" {
		v.Dir = "rtl"
	}
	v.CSS = template.CSS(p.css) //nolint:gosec // a constant and a colour
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Language", v.Lang)
	header.Set("Content-Security-Policy", p.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", cmp.Or(v.Referrer, "same-origin"))
	header.Set("Cache-Control", "no-store")
	header.Set("Vary", "Cookie, Accept, Accept-Language")
	w.WriteHeader(status)
	_ = p.html.Execute(w, v) // only the connection can fail
}
