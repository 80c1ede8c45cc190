package security

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"
	"time"

	"agegate/proof/table"
)

// request is a raw HTTP/1.1 request. Go's client would refuse or repair many of
// the requests here.
type request struct {
	method, target string
	header         []string // "Name: value"
	body           string
	chunked        bool
}

// send writes the request without copying its body.
func (r request) send(w io.Writer) {
	head, tail := fmt.Sprintf("%s %s HTTP/1.1\r\n%s\r\n", r.method, r.target, strings.Join(r.header, "\r\n")), ""
	switch {
	case r.chunked && r.body != "":
		head += fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", len(r.body))
		tail = "\r\n0\r\n\r\n"
	case r.chunked:
		head += "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	case r.body != "" || r.method == http.MethodPost:
		head += fmt.Sprintf("Content-Length: %d\r\n\r\n", len(r.body))
	default:
		head += "\r\n"
	}
	whole := io.MultiReader(strings.NewReader(head), strings.NewReader(r.body), strings.NewReader(tail))
	_, _ = io.Copy(w, struct{ io.Reader }{whole}) // the answer shows whether this succeeded
}

// String returns the request for messages, shortened if it is long.
func (r request) String() string {
	var b bytes.Buffer
	r.send(&b)
	return fmt.Sprintf("%.400q", b.Bytes())
}

// answer is a response with everything that a client can see.
type answer struct {
	status int
	header http.Header
	raw    string // header and body
}

// wire is a client that keeps one connection as long as the server does.
type wire struct {
	address string
	conn    net.Conn
	reader  *bufio.Reader
}

func newWire(t testing.TB, baseURL string) *wire {
	w := &wire{address: strings.TrimPrefix(baseURL, "http://")}
	t.Cleanup(w.close)
	return w
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

// do sends a request and reads its answer. It replaces a kept connection once if
// the server has closed it in the meantime.
func (w *wire) do(r request) (answer, error) {
	kept := w.conn != nil
	a, err := w.once(r)
	if err != nil && kept {
		w.close()
		a, err = w.once(r)
	}
	if err != nil {
		w.close()
	}
	return a, err
}

// unlessBusy repeats a request while it is answered with 503, as an overloaded gateway
// may answer any. ask returns the answer and its status.
func unlessBusy[A any](ask func() (A, int)) A {
	for limit := time.Now().Add(table.HangLimit); ; {
		a, status := ask()
		if status != http.StatusServiceUnavailable || time.Now().After(limit) {
			return a
		}
	}
}

// insist is do with retries after a 503.
func (w *wire) insist(t testing.TB, r request) answer {
	t.Helper()
	return unlessBusy(func() (answer, int) {
		a, err := w.do(r)
		if err != nil {
			t.Fatal(err)
		}
		return a, a.status
	})
}

func (w *wire) once(r request) (answer, error) {
	if w.conn == nil {
		conn, err := net.DialTimeout("tcp", w.address, table.HangLimit)
		if err != nil {
			return answer{}, err
		}
		w.conn, w.reader = conn, bufio.NewReader(conn)
	}
	if err := w.conn.SetDeadline(time.Now().Add(table.HangLimit)); err != nil {
		return answer{}, err
	}
	// The request is written while the answer is read, because a server may
	// answer before it has read everything.
	conn := w.conn
	go r.send(conn)
	res, err := http.ReadResponse(w.reader, &http.Request{Method: r.method})
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusSwitchingProtocols {
		defer w.close()
	}
	head, err := httputil.DumpResponse(res, false)
	if err != nil {
		return answer{}, err
	}
	var body []byte
	if res.StatusCode != http.StatusSwitchingProtocols {
		if body, err = io.ReadAll(res.Body); err != nil {
			return answer{}, err
		}
	}
	if res.Close {
		w.close()
	}
	return answer{res.StatusCode, res.Header, string(head) + string(body)}, nil
}
