package security

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/proof/table"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// sittingWall is how long somebody may sit before the camera who cannot move the
// head, by the clock, and maxTurn how long the last frame of it may take.
const (
	sittingWall = 60 * time.Second
	maxTurn     = 2 * time.Second
)

// Somebody who cannot move the head is never seen to blink, on a server that a
// tenant floods. The wait ends by the clock, the server's time included, and
// the ring is not full before.
func TestSittingBesideAFlood(t *testing.T) {
	models := modelsDir(t)
	r := table.New(t, "Sitting without a blink beside a flood")
	album := newAlbum(t)
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_ESTIMATOR=onnx", "AGEGATE_MODELS_DIR="+models,
		"AGEGATE_INFERENCE_WORKERS=1", "AGEGATE_FREE_CHECKS_PER_MONTH=-1")
	honest, crowd := g.Shop(t, "", nil).Live.APIKey, g.Shop(t, "", nil).Live.APIKey
	sitter := begin(t, g, honest)
	ctx, cancel := context.WithCancel(t.Context())
	heavy := costly(t, newVisitor(t, g, honest).jpeg)
	var hands sync.WaitGroup
	defer hands.Wait()
	defer cancel()
	for range table.Sized(24, 2) {
		link := begin(t, g, crowd)
		hands.Go(func() { insist(ctx, link, heavy) })
	}
	sat, frames, full := album.sit(t, sitter)
	r.Didf("%d frames of open eyes", frames)
	r.Mark("answers that call the check done", "0", fmt.Sprint(full), full == 0)
	r.Within("ended by the clock after", sat, sittingWall+maxTurn)
}

// sit sends the stream of the assisted mode pictures of a still head with open
// eyes until the check ends, or in the short form for some frames. It returns how
// long that took from the first deciding frame, how many frames, and how many
// answers had everything that the check needs.
func (a *album) sit(t *testing.T, o owned) (sat time.Duration, frames, full int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*table.HangLimit)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, strings.Replace(o.page, "http", "ws", 1)+"/stream?assisted=1",
		&websocket.DialOptions{HTTPClient: o.browser})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	s := &stream{conn: conn}
	var began time.Time
	for frames < table.Sized(2000, 25) {
		var last struct {
			Nonce, Next, Phase string
			Done, Total, Place int
		}
		if err := wsjson.Read(ctx, conn, &last); err != nil {
			t.Fatalf("after %d frames: %v", frames, err)
		}
		if last.Place > 0 { // waiting in line
			continue
		}
		if last.Nonce != "" {
			if s.nonce, err = hex.DecodeString(last.Nonce); err != nil {
				t.Fatal(err)
			}
		}
		if last.Next != "" {
			return time.Since(began), frames, full
		}
		if last.Phase == "challenge" && began.IsZero() {
			began = time.Now()
		}
		if last.Phase == "challenge" && last.Done >= last.Total {
			full++
		}
		time.Sleep(gap) // as the page does from one picture to the next
		a.mu.Lock()
		jpeg, err := a.draw(view{full: true})
		a.mu.Unlock()
		if err == nil {
			err = s.send(ctx, jpeg)
		}
		if err != nil {
			t.Fatal(err)
		}
		frames++
	}
	return time.Since(began), frames, full
}
