package httpd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"agegate/internal/rules/routine"
)

// drainTime is how long Shutdown waits for idle clients to close their connections.
const drainTime = time.Second

// Limits of an HTTP/2 connection. A reset stream no longer counts as open, but its
// request may have begun: without a limit, a client has any number of requests worked
// on by resetting each. A browser resets what a person leaves before it has loaded.
const (
	maxStreams = 32
	maxResets  = 100
)

// visit is a connection and how many of its HTTP/2 requests the client has reset.
type visit struct {
	conn   net.Conn
	resets atomic.Int32
}

type visitKey struct{}

// Server serves a handler on a listener with the gateway's timeouts, and shuts
// down without interrupting requests.
type Server struct {
	http     *http.Server
	listener net.Listener
	drain    time.Duration
	parting  atomic.Bool  // answers end their connections
	ending   atomic.Bool  // the listener is closed
	open     atomic.Int64 // number of connections
}

// NewServer returns a server that serves once Serve is called. Errors of single
// connections are not logged: they are network errors and may quote input.
func NewServer(handler http.Handler, listener net.Listener) *Server {
	s := &Server{drain: drainTime, listener: refusals{closedOnce{listener, sync.OnceValue(listener.Close)}}}
	s.http = &http.Server{
		Handler:           countResets(s.partingAnswers(handler)),
		ConnState:         s.count,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, visitKey{}, &visit{conn: conn})
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		// OPTIONS * goes to the handler like any other request.
		DisableGeneralOptionsHandler: true,
	}
	return s
}

// Addr is the address the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve serves until Shutdown or Close, and then returns nil.
func (s *Server) Serve() error {
	err := s.http.Serve(s.listener)
	if s.ending.Load() {
		return nil
	}
	return err
}

// Part makes each connection close after its next answer. New connections are accepted until Shutdown. A client
// that keeps connections open, such as a load balancer, then has none left when the server ends.
func (s *Server) Part() { s.parting.Store(true) }

// Shutdown accepts no more connections, and returns when every request has been answered or ctx is done. A
// client that sends a request just when its idle connection is closed cannot know whether the request was
// processed. Therefore responses first carry Connection: close for drainTime, and then the server closes only
// connections that were idle all that time.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Part()
	s.ending.Store(true)
	err := s.listener.Close()
	limit, cancel := context.WithTimeout(ctx, s.drain)
	defer cancel()
	for s.open.Load() > 0 && limit.Err() == nil {
		_ = routine.Wait(limit, 10*time.Millisecond)
	}
	return errors.Join(err, s.http.Shutdown(ctx))
}

// Close ends the server at once. It may be called after Shutdown.
func (s *Server) Close() error {
	s.ending.Store(true)
	return errors.Join(s.listener.Close(), s.http.Close())
}

// closedOnce can be closed several times: by Server and by http.Server.
type closedOnce struct {
	net.Listener
	close func() error
}

func (l closedOnce) Close() error { return l.close() }

// partingAnswers makes each connection close after its next answer, once Part was
// called. In HTTP/2 it sends GOAWAY.
func (s *Server) partingAnswers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.parting.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, req)
	})
}

// countResets closes a connection after maxResets requests that the client has reset.
func countResets(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		next.ServeHTTP(w, req)
		if of, ok := req.Context().Value(visitKey{}).(*visit); ok && req.ProtoMajor == 2 &&
			req.Context().Err() != nil && of.resets.Add(1) == maxResets {
			_ = of.conn.Close()
		}
	})
}

func (s *Server) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
	}
}
