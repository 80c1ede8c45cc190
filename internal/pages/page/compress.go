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
// Compressing a page reveals its length, which gives secrets away where an attacker
// can put their own text next to them and read the length of many answers
// (BREACH). No page has both. Those that hold a link that opens something (the
// hosted page, the phone's, the playground's) repeat nothing of a query: the
// languages and modes that it chooses are from closed lists, and names come from
// the tenant's settings. Those that repeat a query (the dashboard's searches,
// filters and lab, and where a log-in or confirmation leads on to) hold nothing
// that opens anything, except nonces and challenges, which are new in each answer.
// Keys and secrets are only in answers to POST, which are not wrapped. A page
// that would show a request's text next to a secret must not be wrapped.
//
// Echo wraps a handler in its middleware again for each request, so that this is
// made once: the writers that it keeps, 800 kB each, are for all of them.
var Compress = middleware.GzipWithConfig(middleware.GzipConfig{
	Level:     4, // two thirds of the time of the default, for pages 3 % longer
	MinLength: leastCompressed,
	// A range is of the file as it is.
	Skipper: func(c echo.Context) bool { return c.Request().Header.Get("Range") != "" },
})
