package shopper

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// closeTime is how long a peer may take to answer the end of its stream.
const closeTime = 5 * time.Second

// link is the connection of a stream. Several goroutines may close it.
type link struct {
	conn   *websocket.Conn
	raw    net.Conn // beneath conn
	closed sync.Once
}

func (l *link) send(ctx context.Context, message any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return wsjson.Write(ctx, l.conn, message)
}

// close tells the peer how the stream ended and returns when the connection is
// gone, at most closeTime later. Only the first close counts. During the close
// handshake the library reads messages of any length and sets no deadline.
func (l *link) close(code websocket.StatusCode, reason string) {
	l.closed.Do(func() {
		_ = l.raw.SetDeadline(time.Now().Add(closeTime))
		_ = l.conn.Close(code, reason)
	})
}

// handshake is the response to a WebSocket handshake. It drops the body of a
// refusal, because the library's texts quote the request's headers, and keeps
// the connection, because the library sets no deadlines on it.
type handshake struct {
	http.ResponseWriter
	refused bool
	conn    net.Conn // nil until the library has taken it over
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
	h.conn = conn
	return conn, buffers, err
}
