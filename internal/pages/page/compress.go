package page

import (
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// leastCompressed is the size in bytes below which compression has no benefit.
const leastCompressed = 1024

// Compress is a middleware that compresses responses for clients that accept
// gzip. It is not for WebSockets.
//
// Compressing a page reveals its length. An attacker who can put text next to a
// secret and read the length of many answers could find out the secret (BREACH).
// No page allows both. Pages with a link that opens something (the hosted page,
// the phone's, the playground's) repeat nothing of a query: their languages and
// modes come from closed lists, and names come from the tenant's settings. Pages
// that repeat a query (the dashboard's searches, filters and lab, and the address
// after a log-in or confirmation) contain nothing that opens anything, except
// nonces and challenges, which are new in each answer. Keys and secrets are only
// in answers to POST, which are not compressed. Do not use Compress for a page
// that shows text of the request next to a secret.
//
// Echo applies a middleware to a handler again for each request. Compress is
// created only once, so that all requests share its pool of writers, 800 kB each.
var Compress = middleware.GzipWithConfig(middleware.GzipConfig{
	Level:     4, // two thirds of the default's time, for pages that are 3 % longer
	MinLength: leastCompressed,
	// A range refers to the uncompressed file.
	Skipper: func(c echo.Context) bool { return c.Request().Header.Get("Range") != "" },
})
