package httpd

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"time"
)

// refusals is a listener whose connections add a request ID to the errors that
// net/http writes itself, before any handler runs: 400 to a request that is not
// HTTP, 431 to headers over the limit, and the like.
type refusals struct{ net.Listener }

// Accept waits for the next connection.
func (l refusals) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		return refusalConn{tcp}, nil
	}
	return conn, err
}

// refusalConn embeds a TCP connection, because net/http calls its CloseWrite so
// that a refusal reaches the client.
type refusalConn struct{ *net.TCPConn }

// Limits on what is read after a refusal.
const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// Write adds the header to a refusal, which net/http writes in one call. Every other
// response has an ID already. After a refusal, Write reads what the client still sends,
// before net/http closes the connection: closing it with unread data would send a
// reset, which may destroy the refusal on its way.
func (c refusalConn) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(p, []byte("HTTP/1.1 4")) && !bytes.HasPrefix(p, []byte("HTTP/1.1 5")) {
		return c.TCPConn.Write(p)
	}
	status, rest, _ := bytes.Cut(p, []byte("\r\n"))
	header, _, _ := bytes.Cut(rest, []byte("\r\n\r\n"))
	if bytes.Contains(header, []byte("X-Request-Id: ")) || !bytes.Contains(header, []byte("Connection: close")) {
		return c.TCPConn.Write(p)
	}
	with := fmt.Appendf(nil, "%s\r\nX-Request-Id: %s\r\n%s", status, newRequestID(), rest)
	if _, err := c.TCPConn.Write(with); err != nil {
		return 0, err
	}
	_ = c.CloseWrite() // a client that waits for the end of the response now closes, which ends the reading
	_ = c.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, c.TCPConn, lingerBytes)
	return len(p), nil
}
