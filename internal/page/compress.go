package page

import (
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// leastCompressed is the size in bytes below which compression gains nothing.
const leastCompressed = 1024

// Compress is a middleware that compresses what it wraps for clients that take
// gzip. It is not for WebSockets.
//
// Compressing a page tells its length, which gives secrets away where an attacker
// can put text of their own beside them and read the length of many answers
// (BREACH). Our pages repeat nothing of a request: the languages and modes that
// a query chooses are from closed lists, and names come from the tenant's
// settings. What is secret in them, the session's link and the phone's, has to be
// known to ask for the page, or needs the browser's cookie, which other sites'
// requests do not carry (SameSite). A page that would show a request's text
// beside a secret must not be wrapped.
//
// Echo wraps a handler in its middleware again for each request, so that this is
// made once: the writers that it keeps, 800 kB each, are for all of them.
var Compress = middleware.GzipWithConfig(middleware.GzipConfig{
	Level:     4, // two thirds of the time of the default, for pages 3 % longer
	MinLength: leastCompressed,
	// A range is of the file as it is.
	Skipper: func(c echo.Context) bool { return c.Request().Header.Get("Range") != "" },
})
