package shopper

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/labstack/echo/v4"
)

// closeTime is how long a peer may take to answer the close of its stream. closeBytes
// is how much the peer may still send: enough for the frame that the page was sending.
const (
	closeTime  = 5 * time.Second
	closeBytes = 256 << 10
)

// link is the connection of a stream. Several goroutines may close it.
type link struct {
	conn   *websocket.Conn
	raw    *wire // the connection below conn
	closed sync.Once
}

func (l *link) send(ctx context.Context, message any) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	return wsjson.Write(ctx, l.conn, message)
}

// close tells the peer how the stream ended and returns when the connection is
// closed, at most closeTime later. Only the first close counts.
func (l *link) close(code websocket.StatusCode, reason string) {
	l.closed.Do(func() {
		l.raw.limit()
		_ = l.conn.Close(code, reason)
	})
}

// wire is a network connection whose remaining reads can be limited. This is needed because the library reads messages
// of any length in its close handshake, without a deadline.
type wire struct {
	net.Conn
	limited atomic.Bool
	left    atomic.Int64 // bytes that may still be read once limit was called
}

// limit limits the remaining reads by closeTime and closeBytes.
func (w *wire) limit() {
	w.left.Store(closeBytes)
	w.limited.Store(true)
	_ = w.SetDeadline(time.Now().Add(closeTime))
}

// Read implements io.Reader.
func (w *wire) Read(p []byte) (int, error) {
	if w.limited.Load() && w.left.Load() <= 0 {
		return 0, io.EOF
	}
	n, err := w.Conn.Read(p)
	w.left.Add(-int64(n))
	return n, err
}

// answerHandshake answers GET page.HandshakePath. It accepts a WebSocket handshake and ends the connection at once, so
// that an operator can test whether a reverse proxy passes WebSockets. If a proxy has removed the handshake from the
// request, the answer is 426.
func (p *Pages) answerHandshake(c echo.Context) error {
	conn, err := websocket.Accept(&handshake{ResponseWriter: c.Response()}, c.Request(), nil)
	if err != nil {
		return nil //nolint:nilerr // Accept has answered
	}
	return conn.CloseNow()
}

// handshake is the http.ResponseWriter for a WebSocket handshake. If the handshake is
// refused, it drops the body, because the library's texts quote the request's headers.
// If it is accepted, Hijack wraps the connection in a wire and keeps it in conn.
type handshake struct {
	http.ResponseWriter
	refused bool
	conn    *wire // nil until the library has taken over the connection
}

func (h *handshake) WriteHeader(status int) {
	h.refused = status >= http.StatusBadRequest
	h.ResponseWriter.WriteHeader(status)
}

func (h *handshake) Write(data []byte) (int, error) {
	if h.refused {
		return len(data), nil
	}
	return h.ResponseWriter.Write(data)
}

// Hijack implements http.Hijacker.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = &wire{Conn: conn}
	return h.conn, buffers, nil
}
