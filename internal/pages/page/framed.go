package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"
)

// Framed says how a screen looks in a frame of another page.
type Framed struct {
	Dark   bool
	Sheets []string          // names of the set's style sheets, in order
	CSS    string            // follows them
	Images map[string][]byte // PNGs by the addresses that the screen has for them
}

var (
	linkElement     = regexp.MustCompile(`<link [^>]*>\s*`)
	noscriptElement = regexp.MustCompile(`(?s)<noscript>.*?</noscript>`)
	address         = regexp.MustCompile(` (?:href|action)="[^"]*"`)
	ofDark          = regexp.MustCompile(`\(prefers-color-scheme: ?dark\)`)
)

// RenderFramed writes a preview of a screen, which pages of the same origin may show in a frame. The preview has one
// colour scheme, looks as with scripts but has none, and its controls do nothing. It contains its styles and images.
func (s *Set) RenderFramed(c echo.Context, screen string, v View, f Framed) error {
	page := emptyBuffer()
	defer buffers.Put(page)
	if err := s.execute(c, screen, layoutFile, v, page); err != nil {
		return err
	}
	var css bytes.Buffer
	for _, name := range f.Sheets {
		css.Write(s.assets.files[name].body)
	}
	css.WriteString(f.CSS)
	scheme, applies := "light", "not all"
	if f.Dark {
		scheme, applies = "dark", "all"
	}
	style := strings.NewReplacer("color-scheme: light dark", "color-scheme: "+scheme, "(scripting: none)", "not all",
		"(scripting: enabled)", "all").Replace(ofDark.ReplaceAllString(css.String(), applies))
	html := page.String()
	for _, left := range []*regexp.Regexp{linkElement, noscriptElement, address} {
		html = left.ReplaceAllString(html, "")
	}
	html = strings.Replace(html, `content="light dark"`, `content="`+scheme+`"`, 1)
	html = strings.Replace(html, "</head>", "<style>"+style+"</style></head>", 1)
	for at, png := range f.Images { // only as an image: what a tenant typed may hold the address many times
		picture := `src="data:image/png;base64,` + base64.StdEncoding.EncodeToString(png) + `"`
		html = strings.ReplaceAll(html, `src="`+at+`"`, picture)
	}
	sum := sha256.Sum256([]byte(style))
	header := c.Response().Header()
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+
		base64.StdEncoding.EncodeToString(sum[:])+"'; img-src data:; base-uri 'none'; frame-ancestors 'self'; sandbox")
	header.Set("X-Frame-Options", "SAMEORIGIN")
	return c.HTMLBlob(http.StatusOK, []byte(html))
}
