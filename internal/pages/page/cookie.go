package page

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// CookieName returns name with the __Host- prefix if the pages are served over
// https: the browser then accepts the cookie from this host only.
func (s *Set) CookieName(name string) string {
	if s.secure {
		return "__Host-" + name
	}
	return name
}

// SetCookie gives the browser a cookie that scripts cannot read. The browser sends it
// with a request from another site only if a link is followed.
func (s *Set) SetCookie(c echo.Context, name, value string, life time.Duration) {
	c.SetCookie(&http.Cookie{ //nolint:gosec // Secure wherever the pages are served over https
		Name: name, Value: value, Path: "/", MaxAge: int(life / time.Second),
		Secure: s.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// SetLanguage makes the browser remember a language of the set, or forget it for an
// empty tag. It does nothing for another tag.
func (s *Set) SetLanguage(c echo.Context, tag string) {
	if l, ok := s.catalogue.byTag(tag); ok {
		s.SetCookie(c, s.language, l.Tag, 365*24*time.Hour)
	} else if tag == "" {
		s.SetCookie(c, s.language, "", -time.Second)
	}
}
