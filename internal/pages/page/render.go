package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// Frame is the part of a page's data that Render fills in. The view of every
// screen embeds it, usually through the layout of its set.
type Frame struct {
	Locale      *Locale
	Languages   []*Locale
	Offered     []string // tags of the languages to offer, the default first; empty: all. Set it before Render
	Static      string   // base of the static files
	Revisitable bool     // the page can be loaded again by GET, so links to it work
}

func (f *Frame) frame() *Frame { return f }

// View is the data of one screen: a pointer to a struct that embeds Frame.
type View interface{ frame() *Frame }

// buffers are reused for rendering pages. New buffers would be a quarter of a page's allocations.
var buffers sync.Pool

// emptyBuffer returns an empty buffer, which should be put back after use.
func emptyBuffer() *bytes.Buffer {
	b, ok := buffers.Get().(*bytes.Buffer)
	if !ok {
		return new(bytes.Buffer)
	}
	b.Reset()
	return b
}

var errNoTemplate = errors.New("it does not have this template")

// Render writes a screen in the browser's language.
func (s *Set) Render(c echo.Context, status int, screen string, v View) error {
	page := emptyBuffer()
	defer buffers.Put(page)
	if err := s.execute(c, screen, layoutFile, v, page); err != nil {
		return err
	}
	return c.HTMLBlob(status, page.Bytes())
}

// RenderPart writes one part of a screen, its template part-<name>, for a page that already shows the screen and
// requests what has changed. It answers 304 if the request has the part's ETag, and 404 for an unknown part.
func (s *Set) RenderPart(c echo.Context, screen, name string, v View) error {
	page := emptyBuffer()
	defer buffers.Put(page)
	err := s.execute(c, screen, "part-"+name, v, page)
	if errors.Is(err, errNoTemplate) {
		return echo.ErrNotFound
	}
	if err != nil {
		return err
	}
	sum := sha256.Sum256(page.Bytes())
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	c.Response().Header().Set("ETag", tag)
	if c.Request().Header.Get("If-None-Match") == tag {
		return c.NoContent(http.StatusNotModified)
	}
	return c.HTMLBlob(http.StatusOK, page.Bytes())
}

// maxKept is how many parts are cached, about 20 kB each.
const maxKept = 100

// keptKey identifies a cached part.
type keptKey struct {
	screen, part, language string
	of                     any
}

// Kept returns one part of a screen, its template kept-<name>, as a text for the screen to show. It caches the parts
// that were used last, one for each language and value of key, and calls view only for a part that is not cached. key
// must be comparable and must change with everything that the part shows.
func (s *Set) Kept(c echo.Context, screen, name string, key any, view func() View) (template.HTML, error) {
	l, _ := s.locale(c, s.catalogue)
	k := keptKey{screen, name, l.Tag, key}
	if part, ok := s.kept.Get(k); ok {
		return part, nil
	}
	var text bytes.Buffer
	if err := s.fill(c, l, screen, "kept-"+name, view(), &text); err != nil {
		return "", err
	}
	part := template.HTML(text.String()) //nolint:gosec // a template's output
	s.kept.Add(k, part)
	return part, nil
}

// execute renders a template of a screen in the browser's language and sets the headers of the page.
func (s *Set) execute(c echo.Context, screen, name string, v View, page *bytes.Buffer) error {
	f := v.frame()
	offered := s.catalogue.only(f.Offered)
	l, chosen := s.locale(c, offered)
	if chosen {
		s.SetCookie(c, s.language, l.Tag, 365*24*time.Hour)
	}
	f.Languages = offered.locales
	err := s.fill(c, l, screen, name, v, page)
	if err == nil {
		s.writeHeaders(c.Response().Header(), l)
	}
	return err
}

// fill renders a template of a screen in a language into an empty page.
func (s *Set) fill(c echo.Context, l *Locale, screen, name string, v View, page *bytes.Buffer) error {
	f := v.frame()
	f.Locale = l
	f.Static = s.assets.Base()
	f.Revisitable = c.Request().Method != http.MethodPost
	set, err := s.screens[l.Tag]()
	if err != nil {
		return err
	}
	t := set.Lookup(screenTemplate(screen, name))
	if t == nil {
		return fmt.Errorf("page: screen %s: %w", screen, errNoTemplate)
	}
	if err := t.Execute(page, v); err != nil {
		return fmt.Errorf("page: screen %s: %w", screen, err)
	}
	// Templates set a space between two sentences, which Japanese and Chinese do not have.
	if gap := []byte("。 "); (l.Tag == "ja" || l.Tag == "zh-Hans") && bytes.Contains(page.Bytes(), gap) {
		page.Truncate(copy(page.Bytes(), bytes.ReplaceAll(page.Bytes(), gap, gap[:len("。")])))
	}
	return nil
}

// Language returns the tag of the language in which Render writes a page that offers all languages.
func (s *Set) Language(c echo.Context) string {
	l, _ := s.locale(c, s.catalogue)
	return l.Tag
}

// Text returns a text in the language in which Render writes a page that offers all languages.
func (s *Set) Text(c echo.Context, t Text) (string, error) {
	l, _ := s.locale(c, s.catalogue)
	return l.say(t)
}

// locale returns one of the languages that the page offers: the one chosen with ?lang=, the one chosen earlier, or
// the one that the browser prefers. chosen reports that the choice is new and should be remembered.
func (s *Set) locale(c echo.Context, offered *catalogue) (l *Locale, chosen bool) {
	if l, ok := offered.byTag(c.QueryParam("lang")); ok {
		return l, true
	}
	if cookie, err := c.Cookie(s.language); err == nil {
		if l, ok := offered.byTag(cookie.Value); ok {
			return l, false
		}
	}
	return offered.match(c.Request().Header.Get("Accept-Language")), false
}
