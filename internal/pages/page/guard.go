package page

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// maxFormBytes is the maximum size of a form, far more than the pages' forms need.
const maxFormBytes = 4 << 10

// CheckOrigin returns a 403 for an unsafe request from another site's page.
func (s *Set) CheckOrigin(req *http.Request) error {
	if s.csrf.Check(req) != nil {
		return echo.ErrForbidden
	}
	return nil
}

// SameOrigin is a middleware for unsafe methods: it checks the request's origin and limits the form's size.
func (s *Set) SameOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := s.CheckOrigin(c.Request()); err != nil {
			return err
		}
		c.Request().Body = http.MaxBytesReader(c.Response(), c.Request().Body, maxFormBytes)
		return next(c)
	}
}

// HostedPolicy is the Content-Security-Policy of the hosted page: the pages' own files only. connect-src names the
// WebSocket's origin because older Safaris do not count it as 'self'.
func HostedPolicy(public *url.URL) string {
	socket := "ws" + strings.TrimPrefix(public.Scheme, "http") + "://" + public.Host
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:",
		"media-src blob:", "connect-src 'self' " + socket, "form-action 'self'",
		"base-uri 'none'", "frame-ancestors 'none'",
	}, "; ")
}

// writeHeaders sets the headers of every page.
func (s *Set) writeHeaders(h http.Header, l *Locale) {
	h.Set("Content-Security-Policy", s.policy)
	h.Set("Permissions-Policy", s.permissions)
	h.Set("Cache-Control", cmp.Or(h.Get("Cache-Control"), "no-store"))
	// With no-referrer, browsers would send a null Origin with the pages' own forms.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Language", l.Tag)
	h.Set("Vary", "Accept-Encoding, Accept-Language, Cookie")
}
