package security

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/proof/table"

	"golang.org/x/sync/errgroup"
)

// talkers is how many of the held streams send what they announce, and goOnBytes
// more than the server may read of it: a message, and the kernel's buffers.
const (
	talkers   = 8
	goOnBytes = 64 << 20
)

// The first message of these streams makes the server end them. Then they
// announce another message of a pebibyte, which the WebSocket library would read
// to its end.
func TestHeldStreams(t *testing.T) {
	table.Beside(t)
	onEach(t, "Camera streams held open after their end", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		shop := g.Shop(t, "", nil)
		sessions, streams := table.Sized(192, 8), table.Sized(3000, 40)
		r.Didf("%d streams of %d sessions", streams, sessions)
		links := make([]owned, sessions)
		for i := range links {
			links[i] = begin(t, g, shop.Live.APIKey)
		}
		honest := newVisitor(t, g, g.Shop(t, "", nil).Live.APIKey)
		stop, served := make(chan struct{}), make(chan struct{})
		go func() { defer close(served); honest.look(math.MaxInt, stop) }()

		held, sent := make([]time.Duration, streams), make([]int64, talkers)
		var attackers, open errgroup.Group
		attackers.SetLimit(64)
		for i := range streams {
			attackers.Go(func() error {
				conn, err := links[i%sessions].outlive()
				if err != nil {
					return err
				}
				open.Go(func() error {
					start := time.Now()
					_ = conn.SetDeadline(start.Add(table.HangLimit))
					if i < talkers {
						sent[i], _ = io.Copy(conn, zeros{})
					}
					_, _ = io.Copy(io.Discard, conn)
					held[i] = time.Since(start)
					return conn.Close()
				})
				return nil
			})
		}
		if err := attackers.Wait(); err != nil {
			t.Error(err)
		}
		// The streams of the last seconds are still closing now.
		neighbour := newVisitor(t, g, shop.Live.APIKey)
		neighbour.look(1, nil)
		if err := open.Wait(); err != nil {
			t.Error(err)
		}
		close(stop)
		<-served

		var forever []string
		for _, d := range held {
			if d >= table.HangLimit {
				forever = append(forever, d.String())
			}
		}
		r.None("connections never closed", forever)
		r.Within("longest a connection was held", slices.Max(held), closeTime)
		most := slices.Max(sent)
		r.Mark("most that was taken of the message", fmt.Sprintf("< %d MB", goOnBytes>>20), fmt.Sprintf("%d MB", most>>20),
			most < goOnBytes)
		r.None("turned away from another session of the tenant", neighbour.refused)
		r.None(fmt.Sprintf("of %d frames of another tenant's shopper, not answered", len(honest.took)), honest.refused)
		r.Within("95 of 100 of them answered within", quantile(honest.took, 0.95), time.Second)
	})
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// outlive opens a stream, sends a text message so that the server ends it, and
// announces a message of a pebibyte, of which it sends nothing.
func (o owned) outlive() (net.Conn, error) {
	page, err := url.Parse(o.page)
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("tcp", page.Host)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(table.HangLimit))
	request := "GET " + page.Path + "/stream HTTP/1.1\r\nHost: " + page.Host +
		"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
	for _, cookie := range o.browser.Jar.Cookies(page) {
		request += "Cookie: " + cookie.String() + "\r\n"
	}
	const text, binaryKind, final, masked, wide = 1, 2, 0x80, 0x80, 127
	key := []byte{0, 0, 0, 0} // a mask that changes nothing
	endless := binary.BigEndian.AppendUint64([]byte{final | binaryKind, masked | wide}, 1<<50)
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return conn, err
	}
	in := bufio.NewReader(conn)
	if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		return conn, fmt.Errorf("no stream: %v %w", res, err)
	}
	if _, err := conn.Write(append([]byte{final | text, masked | 2}, append(key, "hi"...)...)); err != nil {
		return conn, err
	}
	for { // until the server closes the connection
		header := make([]byte, 2)
		if _, err := io.ReadFull(in, header); err != nil {
			return conn, err
		}
		if _, err := in.Discard(int(header[1])); err != nil {
			return conn, err
		}
		if header[0] == final|8 {
			break
		}
	}
	_, err = conn.Write(append(endless, key...))
	return conn, err
}
