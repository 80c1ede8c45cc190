package shopper

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a network without sockets.
type pipes map[string]*pipe // by host and port

// pipe is the listener of a server in the network.
type pipe struct {
	port   int
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

// listen adds a server.
func (n pipes) listen() *pipe {
	p := &pipe{port: 1 + len(n), conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	n[p.Addr().String()] = p
	return p
}

// transport returns a transport that finds the servers.
func (n pipes) transport() http.RoundTripper {
	return &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		p := n[address]
		if p == nil {
			return nil, fmt.Errorf("no server at %s", address)
		}
		ours, theirs := net.Pipe()
		select {
		case p.conns <- roomy(theirs):
			return roomy(ours), nil
		case <-p.closed:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	p.close()
	return nil
}

func (p *pipe) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p.port} }

// buffered is a connection whose writes do not wait for the reader, as on a socket.
type buffered struct {
	net.Conn
	out chan []byte
}

func roomy(conn net.Conn) net.Conn {
	c := &buffered{conn, make(chan []byte, 1000)}
	go func() {
		defer conn.Close()
		for data := range c.out {
			if data == nil {
				return
			}
			if _, err := conn.Write(data); err != nil {
				return
			}
		}
	}()
	return c
}

func (c *buffered) Write(data []byte) (int, error) {
	c.out <- append([]byte{}, data...)
	return len(data), nil
}

func (c *buffered) Close() error {
	c.out <- nil
	return c.SetDeadline(time.Now().Add(time.Second)) // for what is buffered
}

// ownTime is a test in a time of its own, in which waits take none. Fixtures of such
// a test have no sockets, on which time would stand still.
type ownTime struct{ *testing.T }

func inOwnTime(t *testing.T, test func(t testing.TB)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // connections end
		test(ownTime{t})
	})
}
