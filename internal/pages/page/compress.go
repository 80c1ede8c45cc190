package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// minCompressed is the size in bytes below which compression has no benefit.
const minCompressed = 1024

// Compress is a middleware that compresses responses for clients that accept gzip. It is not for WebSockets.
//
// The length of a compressed page depends on its content. If an attacker can put text next to a secret, and reads the
// length of many answers, the attacker could find out the secret (BREACH). No page allows both. Pages with a link
// that opens something (the hosted page, the phone's, the playground's) repeat nothing of a query: their languages
// and modes come from closed lists, and names come from the tenant's settings. Pages that repeat a query (the
// dashboard's searches and filters, and the address after a log-in or confirmation) contain nothing that opens
// anything, except nonces and challenges, which are new in each answer. Keys and secrets are only in answers to POST,
// which are not compressed. Do not use Compress for a page that shows text of the request next to a secret.
//
// A page is compressed when it is complete, by one writer that all pages share. A writer takes 800 kB. If each
// request had one, it would hold the writer while it waits for the database and for its client. A page uses the
// shared writer for about a millisecond. A handler that flushes gets its own writer.
func Compress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		req, res := c.Request(), c.Response()
		res.Header().Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
		// A range refers to the uncompressed file.
		if !acceptsGzip(req.Header) || req.Header.Get("Range") != "" {
			return next(c)
		}
		w := &compressed{ResponseWriter: res.Writer, page: emptyBuffer()}
		defer buffers.Put(w.page)
		defer func() { res.Writer = w.ResponseWriter }()
		res.Writer = w
		err := next(c)
		if w.status != 0 {
			err = errors.Join(err, w.finish(req.Context()))
		}
		return err
	}
}

// acceptsGzip reports whether Accept-Encoding names gzip, with a weight other than 0 (RFC 9110, 12.5.3).
func acceptsGzip(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values(echo.HeaderAcceptEncoding), ","), ",") {
		name, parameter, weighted := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		weight, err := strconv.ParseFloat(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(parameter)), "q="), 64)
		return !weighted || err == nil && weight > 0
	}
	return false
}

// compressed is a response that is held back until it is complete or flushed.
type compressed struct {
	http.ResponseWriter
	status int           // 0: the handler has written nothing
	page   *bytes.Buffer // what is not yet sent
	stream *gzip.Writer  // nil: nothing was flushed
}

// Unwrap lets http.ResponseController reach the connection.
func (w *compressed) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *compressed) WriteHeader(status int) { w.status = status }

func (w *compressed) Write(p []byte) (int, error) {
	if w.stream != nil {
		return w.stream.Write(p)
	}
	return w.page.Write(p)
}

// FlushError sends what was written so far.
func (w *compressed) FlushError() error {
	if w.stream == nil {
		w.stream = newWriter(w.ResponseWriter)
		w.writeHeader(true)
		if _, err := w.stream.Write(w.page.Bytes()); err != nil {
			return err
		}
	}
	if err := w.stream.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// finish sends the rest of the response.
func (w *compressed) finish(ctx context.Context) error {
	switch {
	case w.stream != nil:
		return w.stream.Close()
	case w.page.Len() < minCompressed:
		w.writeHeader(false)
		_, err := w.ResponseWriter.Write(w.page.Bytes())
		return err
	}
	packed := emptyBuffer()
	defer buffers.Put(packed)
	if err := pack(ctx, packed, w.page.Bytes()); err != nil {
		return err
	}
	w.writeHeader(true)
	_, err := w.ResponseWriter.Write(packed.Bytes())
	return err
}

func (w *compressed) writeHeader(packed bool) {
	h := w.Header()
	h.Del(echo.HeaderContentLength)
	if packed {
		h.Set(echo.HeaderContentEncoding, "gzip")
	}
	w.ResponseWriter.WriteHeader(w.status)
}

// level is the level of compression: a third less time than gzip's default, and pages that are 3 % longer.
const level = 4

// compressor compresses one content after another.
var compressor struct {
	sync.Mutex
	writer *gzip.Writer // nil until it is used
}

// pack appends the compressed content to packed, unless ctx ends before its turn.
func pack(ctx context.Context, packed *bytes.Buffer, content []byte) error {
	compressor.Lock()
	defer compressor.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if compressor.writer == nil {
		compressor.writer = newWriter(packed)
	}
	compressor.writer.Reset(packed)
	_, err := compressor.writer.Write(content)
	return errors.Join(err, compressor.writer.Close())
}

func newWriter(to io.Writer) *gzip.Writer {
	w, _ := gzip.NewWriterLevel(to, level) // a level that exists
	return w
}

// closest are writers for content that is compressed once, and sent often.
var closest = sync.Pool{New: func() any { w, _ := gzip.NewWriterLevel(nil, gzip.BestCompression); return w }}

// Packed serves public content that never changes, with GET and HEAD. It keeps the content compressed, and restores
// it for clients that do not accept gzip or ask for a range. A client that has the same content gets 304; it must ask
// each time, because a new build has the same address.
func Packed(contentType string, content []byte) echo.HandlerFunc {
	var packed bytes.Buffer
	w := closest.Get().(*gzip.Writer) //nolint:forcetypeassert // the pool has no other
	defer closest.Put(w)
	w.Reset(&packed)
	_, _ = w.Write(content) // a buffer takes everything
	_ = w.Close()
	tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(content)) // weak: the same for compressed bytes
	return func(c echo.Context) error {
		req, h := c.Request(), c.Response().Header()
		h.Set(echo.HeaderContentType, contentType)
		h.Set(echo.HeaderCacheControl, "no-cache")
		h.Set(echo.HeaderVary, echo.HeaderAcceptEncoding)
		h.Set("ETag", tag)
		body := packed.Bytes()
		if req.Header.Get("Range") == "" && acceptsGzip(req.Header) {
			h.Set(echo.HeaderContentEncoding, "gzip")
		} else {
			var err error
			if body, err = gunzipped(packed.Bytes()); err != nil {
				return err
			}
		}
		http.ServeContent(c.Response(), req, "", time.Time{}, bytes.NewReader(body))
		return nil
	}
}
