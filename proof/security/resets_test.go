package security

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"agegate/internal/backoffice/certificate/certificatetest"
	"agegate/internal/gatewaytest"
	"agegate/proof/table"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestResetStreams: a stranger resets each HTTP/2 request as soon as it has begun, which
// takes it from the count of open ones.
func TestResetStreams(t *testing.T) {
	dir, host := t.TempDir(), "gate.example"
	chain, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	certificatetest.Write(t, chain, key, host, 1, time.Now().Add(time.Hour))
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_BASE_URL=https://"+host, "AGEGATE_VERIFY_URL=https://"+host,
		"AGEGATE_DASHBOARD_URL=https://"+host, "AGEGATE_TLS_CERT="+chain, "AGEGATE_TLS_KEY="+key)
	conn, err := tls.Dial("tcp", g.App.Addr(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(table.HangLimit))
	_, _ = io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	_ = framer.WriteSettings()
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	sent := 0
	for ; sent < 20000; sent++ { // or until the gateway has closed the connection
		block.Reset()
		for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", host},
			{":path", "/dashboard/login"}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
		}
		id := uint32(2*sent + 1)
		if framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true,
			EndHeaders: true}) != nil {
			break
		}
		time.Sleep(200 * time.Microsecond) // it begins
		if framer.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break
		}
	}
	r := table.New(t, "Reset HTTP/2 streams")
	r.Didf("requests on one connection, each reset after 0.2 ms")
	r.Mark("requests until the connection is closed", "< 20000", fmt.Sprint(sent), sent < 20000)
}
