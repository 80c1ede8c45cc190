package security

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"image"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
	"agegate/proof/table"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// owned is a session and the browser that owns it.
type owned struct {
	browser *http.Client
	page    string // address
}

// begin creates a session and starts it in its own browser.
func begin(t testing.TB, g *gatewaytest.Gateway, key string) owned { return beginAt(t, g, key, 18) }

// beginAt is begin for a target age.
func beginAt(t testing.TB, g *gatewaytest.Gateway, key string, years int) owned {
	t.Helper()
	o := owned{browser: gatewaytest.Browser(), page: g.Path(g.Create(t, key, years).VerificationURL)}
	post(t, o.browser, o.page+"/start")
	return o
}

// stream is a camera stream of an owned session.
type stream struct {
	conn  *websocket.Conn
	nonce []byte
	seq   uint32
}

// open opens the session's camera stream.
func (o owned) open(ctx context.Context) (*stream, error) {
	conn, _, err := websocket.Dial(ctx, strings.Replace(o.page, "http", "ws", 1)+"/stream",
		&websocket.DialOptions{HTTPClient: o.browser})
	return &stream{conn: conn}, err
}

// dial opens the session's camera stream and waits for a place.
func (o owned) dial(ctx context.Context) (*stream, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	var hello struct{ Nonce string }
	for hello.Nonce == "" { // waiting in line
		if err := wsjson.Read(ctx, s.conn, &hello); err != nil {
			_ = s.conn.CloseNow()
			return nil, err
		}
	}
	s.nonce, err = hex.DecodeString(hello.Nonce)
	return s, err
}

// send sends a picture as the stream's next frame.
func (s *stream) send(ctx context.Context, jpeg []byte) error {
	message := append(binary.BigEndian.AppendUint32(slices.Clone(s.nonce), s.seq), jpeg...)
	s.seq++
	return s.conn.Write(ctx, websocket.MessageBinary, message)
}

// visitor is an honest shopper in front of the camera who repeats the check.
type visitor struct {
	t       testing.TB
	g       *gatewaytest.Gateway
	key     string // of the shop
	jpeg    []byte
	took    []time.Duration // by answered frame
	refused []string        // what the server sent instead of an answer
}

// newVisitor returns a shopper of the shop with the key. Its picture is blurred:
// it passes every stage of guidance, and no check ends with it.
func newVisitor(t testing.TB, g *gatewaytest.Gateway, key string) *visitor {
	small := visiontest.Scene(visiontest.Face(t), [3]int{18, 18, 36}).SubImage(image.Rect(0, 0, 36, 36))
	return &visitor{t: t, g: g, key: key, jpeg: visiontest.JPEG(t, visiontest.Scene(small, [3]int{320, 240, 320}))}
}

// look sends the given number of frames, at most four a second, each after the
// answer to the one before, until stop is closed.
func (v *visitor) look(frames int, stop <-chan struct{}) {
	ctx, cancel := context.WithTimeout(v.t.Context(), 3*table.HangLimit)
	defer cancel()
	tick := time.NewTicker(time.Second / 4)
	defer tick.Stop()
	var s *stream
	defer func() {
		if s != nil {
			_ = s.conn.CloseNow()
		}
	}()
	for range frames {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if s == nil {
			var err error
			if s, err = begin(v.t, v.g, v.key).dial(ctx); err != nil {
				v.refused = append(v.refused, err.Error())
				s = nil
				continue
			}
		}
		start := time.Now()
		err := s.send(ctx, v.jpeg)
		var message []byte
		if err == nil {
			_, message, err = s.conn.Read(ctx)
		}
		switch {
		case err != nil:
			v.refused = append(v.refused, err.Error())
			s = nil
		case strings.Contains(string(message), "next"): // the check's time is over
			s = nil
		default:
			v.took = append(v.took, time.Since(start))
		}
	}
}

// quantile returns the duration below which the given share of a list lies.
func quantile(took []time.Duration, share float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[int(share*float64(len(sorted)-1))]
}
