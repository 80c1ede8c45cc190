// Package httpdtest has clients that attack a server of HTTP/2.
package httpdtest

import (
	"bytes"
	"crypto/tls"
	"io"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Reset sends up to limit GETs over one HTTP/2 connection and resets each as soon as
// begun has returned. It returns how many it sent before the server closed the
// connection, and how many open streams the server allows.
func Reset(t *testing.T, address, host, path string, limit int, begun func(sent int)) (sent int, streams uint32) {
	t.Helper()
	//nolint:gosec // nothing is sent that a stranger may not see
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	_, _ = io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	_ = framer.WriteSettings()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				return
			}
			if settings, ok := frame.(*http2.SettingsFrame); ok && !settings.IsAck() {
				streams, _ = settings.Value(http2.SettingMaxConcurrentStreams)
			}
		}
	}()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0) // the block is sent again and again
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", host}, {":path", path}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	for ; sent < limit; sent++ {
		id := uint32(2*sent + 1)
		if framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true,
			EndHeaders: true}) != nil {
			break
		}
		begun(sent)
		if framer.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break
		}
	}
	_ = conn.Close()
	<-ended
	return sent, streams
}
