package security

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/proof/table"

	"github.com/coder/websocket"
)

// Camera streams of a browser that owns its session, with messages that no honest
// page sends.
func TestHostileStreams(t *testing.T) {
	table.Beside(t)
	onEach(t, "Hostile camera streams", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		shop := g.Shop(t, "", nil)
		rng := rand.New(rand.NewPCG(2, 2))
		streams := table.Sized(300, 15)
		r.Didf("%d streams, each ended by a message out of order", streams)
		var echoed, stuck []string
		for range streams {
			link := g.Path(g.Create(t, shop.Live.APIKey, 18).VerificationURL)
			browser := gatewaytest.Browser()
			post(t, browser, link+"/start")
			conn, _, err := websocket.Dial(t.Context(), strings.Replace(link, "http", "ws", 1)+"/stream",
				&websocket.DialOptions{HTTPClient: browser})
			if err != nil {
				t.Fatal(err)
			}
			said, ended := abuse(t.Context(), conn, rng)
			if repeats(0, said) {
				echoed = append(echoed, said)
			}
			if !ended {
				stuck = append(stuck, said)
			}
			_ = conn.CloseNow()
		}
		r.None("canaries in a message or close reason", echoed)
		r.None("streams that outlived a message out of order", stuck)
		r.None("lines of the log with a canary", linesWith(g.Log.String(), canary))
		r.None("errors in the log", linesWith(g.Log.String(), "level=ERROR"))
	})
}

// abuse sends some frames and then one that must end the stream. It returns
// everything that the server sent, and whether the server ended the stream.
func abuse(ctx context.Context, conn *websocket.Conn, rng *rand.Rand) (said string, ended bool) {
	ctx, cancel := context.WithTimeout(ctx, table.HangLimit)
	defer cancel()
	_, first, err := conn.Read(ctx)
	if err != nil {
		return err.Error(), false
	}
	var hello struct{ Nonce string }
	if json.Unmarshal(first, &hello) != nil {
		return string(first), false
	}
	nonce, err := hex.DecodeString(hello.Nonce)
	if err != nil {
		return string(first), false
	}
	frame := func(seq uint32, image string) []byte {
		return append(binary.BigEndian.AppendUint32(append([]byte{}, nonce...), seq), image...)
	}
	image := strings.Repeat(hostile(rng), 1+rng.IntN(50))
	if rng.IntN(2) == 0 {
		image = "\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01" + image + "\xff\xd9"
	}
	if conn.Write(ctx, websocket.MessageBinary, frame(0, image)) != nil {
		return "", false
	}
	_, guidance, err := conn.Read(ctx)
	said = string(guidance)
	if err != nil {
		return said + err.Error(), websocket.CloseStatus(err) > 0
	}
	kind, last := websocket.MessageBinary, frame(0, image) // repeated
	switch rng.IntN(4) {
	case 0:
		kind, last = websocket.MessageText, []byte(`{"verdict":"met","age":44,"x":"`+canary+`"}`)
	case 1:
		last = append([]byte(canary+"000000"), last[16:]...) // of another check
	case 2:
		last = []byte(canary) // not a frame
	}
	if conn.Write(ctx, kind, last) != nil {
		return said, false
	}
	for {
		_, message, err := conn.Read(ctx)
		if said += string(message); err != nil {
			return said + err.Error(), websocket.CloseStatus(err) > 0
		}
	}
}
