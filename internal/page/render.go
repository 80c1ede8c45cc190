package page

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// Frame is the part of a page's data that Render fills in. The view of every
// screen embeds it, usually through the layout of its set.
type Frame struct {
	Locale      *Locale
	Languages   []*Locale
	Static      string // base of the static files
	Revisitable bool   // the page can be loaded again by GET, so links to it work
}

func (f *Frame) frame() *Frame { return f }

// View is the data of one screen: a pointer to a struct that embeds Frame.
type View interface{ frame() *Frame }

const languageCookie = "agegate-lang"

// Render writes a screen in the browser's language.
func (s *Set) Render(c echo.Context, status int, screen string, v View) error {
	f := v.frame()
	f.Locale, f.Languages = s.locale(c), s.catalogue.locales
	f.Static, f.Revisitable = s.assets.Base(), c.Request().Method != http.MethodPost
	t, ok := s.screens[f.Locale.Tag][screen]
	if !ok {
		return fmt.Errorf("page: no screen %q", screen)
	}
	var page bytes.Buffer
	if err := t.ExecuteTemplate(&page, layoutFile, v); err != nil {
		return fmt.Errorf("page: screen %s: %w", screen, err)
	}
	s.writeHeaders(c.Response().Header(), f.Locale)
	return c.HTMLBlob(status, page.Bytes())
}

// locale is the language chosen with ?lang= (and remembered), chosen earlier,
// or asked for by the browser.
func (s *Set) locale(c echo.Context) *Locale {
	if l, ok := s.catalogue.byTag(c.QueryParam("lang")); ok {
		s.SetCookie(c, languageCookie, l.Tag, 365*24*time.Hour)
		return l
	}
	if cookie, err := c.Cookie(languageCookie); err == nil {
		if l, ok := s.catalogue.byTag(cookie.Value); ok {
			return l
		}
	}
	return s.catalogue.match(c.Request().Header.Get("Accept-Language"))
}
