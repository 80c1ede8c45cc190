package security

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/proof/table"
)

// closeTime is the time after which a slow connection must be closed, and
// goodTime the time that 99 of 100 good requests may take meanwhile.
const (
	closeTime = 10 * time.Second
	goodTime  = 50 * time.Millisecond
)

// slow are ways to hold a connection: what is sent first, and what is then sent
// byte by byte, one per second. Nothing is sent after the last byte.
var slow = []struct{ name, first, drip string }{
	{"says nothing", "", ""},
	{"stops in the request line", "GET /v/", ""},
	{"drips headers", "GET /healthz HTTP/1.1\r\nHost: x\r\n", "X-A: " + strings.Repeat("a", 100)},
	{"drips an API body", "POST /api/v1/sessions/create HTTP/1.1\r\nHost: x\r\nContent-Type: " +
		"application/json\r\nX-API-Key: KEY\r\nContent-Length: 1000\r\n\r\n", `{"target_age":18` + strings.Repeat(" ", 100)},
	{"sends the end of its body late", "POST /api/v1/sessions/create HTTP/1.1\r\nHost: x\r\nContent-Type: " +
		"application/json\r\nX-API-Key: KEY\r\nContent-Length: 17\r\n\r\n{\"target_ag", `e":18} `},
	{"drips chunks", "POST /api/v1/sessions/create HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-API-Key: " +
		"KEY\r\nTransfer-Encoding: chunked\r\n\r\n", strings.Repeat("1\r\na\r\n", 20)},
	{"drips a form", "POST /v/TOKEN/consent HTTP/1.1\r\nHost: x\r\nContent-Type: " +
		"application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n", "share=" + strings.Repeat("y", 100)},
	{"stops in a body nobody reads", "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc", ""},
}

func TestSlowConnections(t *testing.T) {
	table.Beside(t)
	r := table.New(t, "Slow connections while good requests come")
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_TEST_DAILY_CAP=-1")
	shop := g.Shop(t, "", consenting)
	s := g.Create(t, shop.Test.APIKey, 18)
	count := table.Sized(500, 70)
	r.Didf("%d connections, each slow in one of %d ways", count, len(slow))
	fill := strings.NewReplacer("KEY", shop.Test.APIKey, "TOKEN",
		s.VerificationURL[strings.LastIndex(s.VerificationURL, "/")+1:])

	var wg sync.WaitGroup
	held, answers := make([]time.Duration, count), make([]string, count)
	for i := range count {
		way := slow[i%len(slow)]
		wg.Go(func() {
			held[i], answers[i] = hold(strings.TrimPrefix(g.URL, "http://"), fill.Replace(way.first), way.drip)
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	good, bad := goodRequests(t, g, shop.Test.APIKey, s.SessionID, done)

	var open, failed, busy []string
	for i, d := range held {
		what := fmt.Sprintf("%s: %s %.20s", slow[i%len(slow)].name, d, answers[i])
		switch {
		case strings.HasPrefix(answers[i], "HTTP/1.1 503"):
			busy = append(busy, what)
		case strings.HasPrefix(answers[i], "HTTP/1.1 5"):
			failed = append(failed, what)
		}
		if d >= table.HangLimit {
			open = append(open, what)
		}
	}
	r.None("connections never closed", open)
	r.Within("longest a connection was held", slices.Max(held), closeTime)
	r.None("answers of 5xx but 503 to them", failed)
	r.TimelyNone("answers of 503 to them", busy)
	r.None(fmt.Sprintf("of %d good requests, not answered", len(good)), bad)
	slices.Sort(good)
	r.Within("99 of 100 good requests answered within", good[len(good)*99/100], goodTime)
}

// hold keeps a connection as long as the server allows, and returns how long that
// was and the server's answer. A connection that was refused was not held.
func hold(address, first, drip string) (held time.Duration, answer string) {
	start := time.Now()
	conn, err := net.DialTimeout("tcp", address, table.HangLimit)
	if err != nil {
		return 0, ""
	}
	defer conn.Close()
	said, ended := new(strings.Builder), make(chan struct{})
	go func() {
		defer close(ended)
		_ = conn.SetReadDeadline(start.Add(table.HangLimit))
		_, _ = io.Copy(said, conn)
	}()
	_, err = io.WriteString(conn, first)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for err == nil && drip != "" {
		select {
		case <-ended:
			return time.Since(start), said.String()
		case <-tick.C:
			_, err = io.WriteString(conn, drip[:1])
			drip = drip[1:]
		}
	}
	<-ended
	return time.Since(start), said.String()
}

// goodRequests requests a session's status 50 times a second until done is
// closed. It returns the times of all requests, and the answers that were not
// 200.
func goodRequests(
	t *testing.T, g *gatewaytest.Gateway, key, id string, done <-chan struct{},
) (took []time.Duration, bad []string) {
	client := newWire(t, g.URL)
	for {
		select {
		case <-done:
			return took, bad
		case <-time.After(20 * time.Millisecond):
		}
		start := time.Now()
		got, err := client.do(request{method: http.MethodGet, target: "/api/v1/sessions/" + id + "/status",
			header: []string{"Host: x", "X-API-Key: " + key}})
		took = append(took, time.Since(start))
		if err != nil || got.status != http.StatusOK {
			bad = append(bad, fmt.Sprint(got.status, err))
		}
	}
}
