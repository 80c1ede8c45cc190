//go:build linux

package chaos

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/proof/table"

	"github.com/coder/websocket"
)

// The most that a process with one worker may use while idle camera pages are open:
// half of the memory of a replica with two in deploy/kubernetes, in KiB; and one
// descriptor for each of its 256 places, besides those that come and go.
const (
	idleMemory      = 512 << 10
	idleDescriptors = 256 + 200
)

// TestIdleCameras opens camera pages whose browsers answer pings and never send a
// picture, far more than a process has places for, while shoppers make other requests.
func TestIdleCameras(t *testing.T) {
	beside(t, true)
	db := sqlite(t)
	r := table.New(t, db.named("20 idle camera pages"))
	g := newGateway(t, db, "AGEGATE_ESTIMATOR=onnx", "AGEGATE_MODELS_DIR="+models(t), "AGEGATE_INFERENCE_WORKERS=1")
	keys := g.newShops(4, newReceiver(t, always(accept)))
	g.start()
	l := newLoad(keys, 20*time.Millisecond, g)
	stop := l.start(4)
	time.Sleep(2 * time.Second)
	before := g.descriptors()

	pages := table.Sized(2000, 320)
	codes := make([]websocket.StatusCode, pages)
	held, leave := context.WithCancel(t.Context())
	defer leave()
	var opening, open sync.WaitGroup
	slots := make(chan struct{}, 32)
	for i := range pages {
		opening.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			conn, err := l.openCamera(t.Context(), g.url, keys[i%len(keys)])
			if err != nil {
				t.Error(err)
				return
			}
			open.Go(func() { codes[i] = readToEnd(held, conn) })
		})
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		opening.Wait()
		rest(t.Context(), table.Sized(time.Minute, 2*time.Second))
	}()
	descriptors := 0
	for done := false; !done; time.Sleep(50 * time.Millisecond) {
		descriptors = max(descriptors, g.descriptors())
		select {
		case <-over:
			done = true
		default:
		}
	}
	leave()
	open.Wait()
	stop()
	_, memory := memory(t, g)
	ends := map[websocket.StatusCode]int{}
	for _, code := range codes {
		ends[code]++
	}
	requests, failed := l.failed()
	r.Didf("%d pages, of which %d stayed open, %d were turned away and %d closed as idle; %d other requests", pages,
		ends[left], ends[websocket.StatusTryAgainLater], ends[4002], requests)
	r.Mark("pages closed in another way", "0", fmt.Sprint(pages-ends[left]-ends[websocket.StatusTryAgainLater]-ends[4002]),
		pages == ends[left]+ends[websocket.StatusTryAgainLater]+ends[4002])
	r.Mark("most memory", fmt.Sprintf("< %d MiB", idleMemory>>10), fmt.Sprintf("%d MiB", memory>>10), memory < idleMemory)
	r.Mark("most descriptors", fmt.Sprintf("< %d", idleDescriptors), fmt.Sprint(descriptors),
		descriptors < idleDescriptors)
	r.NoneButBusy("other requests that failed", failed)
	r.Within("slowest of them", l.slowest, 5*time.Second)
	l.http.CloseIdleConnections()
	gatewaytest.WaitFor(t, "the descriptors are free again", func() bool { return g.descriptors() <= before })
	gatewaytest.WaitFor(t, "the next shopper has a place", func() bool {
		conn, err := l.openCamera(t.Context(), g.url, keys[0])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		_, first, err := conn.Read(t.Context())
		return err == nil && strings.Contains(string(first), `"nonce"`)
	})
}

// openCamera creates a session and opens the camera of its page.
func (l *load) openCamera(ctx context.Context, gateway, key string) (*websocket.Conn, error) {
	s, _, ok := l.insistOnCreate(ctx, gateway, key)
	if !ok {
		return nil, ctx.Err()
	}
	browser := gatewaytest.Browser()
	page := gateway + s.path
	for status := http.StatusServiceUnavailable; status == http.StatusServiceUnavailable && ctx.Err() == nil; {
		res, err := browser.Post(page+"/start", "application/x-www-form-urlencoded", nil)
		if err != nil {
			return nil, err
		}
		res.Body.Close()
		status = res.StatusCode
		rest(ctx, retryPause)
	}
	conn, _, err := websocket.Dial(ctx, strings.Replace(page, "http", "ws", 1)+"/stream",
		&websocket.DialOptions{HTTPClient: browser})
	return conn, err
}

// left is the code of a page that was open until ctx ended.
const left websocket.StatusCode = 0

// readToEnd reads until the server closes the connection and returns its code, -1 if
// it gave none, or left.
func readToEnd(ctx context.Context, conn *websocket.Conn) websocket.StatusCode {
	defer conn.CloseNow()
	for {
		if _, _, err := conn.Read(ctx); ctx.Err() != nil {
			return left
		} else if err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// descriptors returns how many descriptors the process has open.
func (g *gateway) descriptors() int {
	g.t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.cmd.Process.Pid))
	if err != nil {
		g.t.Fatal(err)
	}
	return len(list)
}
