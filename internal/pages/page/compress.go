package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

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

// packers compress what is kept compressed. A writer holds 800 kB of tables.
var packers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestCompression) // a level that exists
	return w
}}

// pack compresses content with gzip.
func pack(content []byte) []byte {
	w := packers.Get().(*gzip.Writer) //nolint:forcetypeassert // New returns no other type
	defer packers.Put(w)
	var packed bytes.Buffer
	w.Reset(&packed)
	_, _ = w.Write(content) // a buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}

// Packed serves public content that never changes, with GET and HEAD. It keeps
// the content compressed, and restores it for clients that do not accept gzip or
// ask for a range. A client that has the same content gets 304; it must ask each
// time, because a new build has the same address.
func Packed(contentType string, content []byte) echo.HandlerFunc {
	packed := pack(content)
	tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(content)) // weak: the same for compressed bytes
	return func(c echo.Context) error {
		req, h := c.Request(), c.Response().Header()
		h.Set(echo.HeaderContentType, contentType)
		h.Set(echo.HeaderCacheControl, "no-cache")
		h.Set(echo.HeaderVary, echo.HeaderAcceptEncoding)
		h.Set("ETag", tag)
		body := packed
		if req.Header.Get("Range") == "" && strings.Contains(req.Header.Get(echo.HeaderAcceptEncoding), "gzip") {
			h.Set(echo.HeaderContentEncoding, "gzip")
		} else {
			var err error
			if body, err = gunzipped(packed); err != nil {
				return err
			}
		}
		http.ServeContent(c.Response(), req, "", time.Time{}, bytes.NewReader(body))
		return nil
	}
}
