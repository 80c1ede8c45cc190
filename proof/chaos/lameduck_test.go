//go:build linux

package chaos

import (
	"context"
	wire "encoding/binary"
	"encoding/hex"
	"fmt"
	"image"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agegate/internal/check/vision/visiontest"
	"agegate/internal/gatewaytest"
	"agegate/internal/store/pgtest"
	"agegate/proof/table"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// TestRestarts restarts processes one after the other, under load and with camera
// checks open, behind an HAProxy that sends no request twice and asks for readiness
// every 5 seconds.
func TestRestarts(t *testing.T) {
	beside(t, true)
	db := postgres(t)
	r := table.New(t, db.named("18 processes restarted one after the other"))
	address := pgtest.FreeAddr(t)
	gateways := make([]*gateway, table.Sized(4, 2))
	for i := range gateways {
		gateways[i] = newGateway(t, db, "AGEGATE_BASE_URL=http://"+address, "AGEGATE_ESTIMATOR=onnx",
			"AGEGATE_MODELS_DIR="+models(t), "AGEGATE_INFERENCE_WORKERS=1", "AGEGATE_LAME_DUCK=10s", "AGEGATE_DRAIN=2m")
		gateways[i].start()
	}
	proxy := startProxy(t, address, gateways)
	keys := gateways[0].newShops(2, newReceiver(t, always(accept)))
	l := newLoad(keys, 20*time.Millisecond, &gateway{url: proxy.url})
	stop := l.start(4)
	defer func() { stop() }()
	watching, leave := context.WithCancel(t.Context())
	defer leave()
	people := make([]*person, table.Sized(6, 2))
	var all sync.WaitGroup
	for i := range people {
		people[i] = newPerson(t)
		all.Go(func() { people[i].look(watching, l, proxy.url, keys[0]) })
	}
	for i, g := range gateways {
		proxy.awaitUp(t, len(gateways))
		if took, code := g.terminate(); code != 0 {
			t.Errorf("process %d ended after %s with code %d", i+1, took, code)
		}
		g.start()
	}
	proxy.awaitUp(t, len(gateways))
	stop()
	stop = func() {}
	leave()
	all.Wait()
	checks, interrupted := 0, []string(nil)
	for _, p := range people {
		checks += p.checks
		interrupted = append(interrupted, p.interrupted...)
	}
	requests, failed := l.failed()
	r.Didf("%d processes, 10 s of lame duck; %d requests and %d camera checks", len(gateways), requests, checks)
	r.None("requests that failed", failed)
	r.None("camera checks interrupted or refused", interrupted)
	took := gateways[0].terminateTwice()
	r.Mark("exit after a second SIGTERM", "< 5s", took.Round(time.Millisecond).String(), took < 5*time.Second)
}

// terminateTwice sends SIGTERM, and again once the process is not ready. It returns
// how long the process then took to end.
func (g *gateway) terminateTwice() time.Duration {
	g.t.Helper()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	gatewaytest.WaitFor(g.t, "the process is not ready", func() bool {
		return newClient().do(http.MethodGet, g.url+"/readyz", "").status == http.StatusServiceUnavailable
	})
	took, _ := g.terminate()
	return took
}

// failed returns how many requests were sent and those that were not answered as
// they should be.
func (a *account) failed() (requests int, failed []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for answer, n := range maps.All(a.answers) {
		requests += n
		if !strings.HasSuffix(answer, " 200") && !strings.HasSuffix(answer, " 201") && !strings.HasSuffix(answer, " 303") {
			failed = append(failed, slices.Repeat([]string{answer}, n)...)
		}
	}
	return requests, failed
}

// proxy is an HAProxy before gateways.
type proxy struct{ url, stats string }

// startProxy starts HAProxy until the test ends.
func startProxy(t *testing.T, address string, gateways []*gateway) proxy {
	t.Helper()
	p := proxy{"http://" + address, pgtest.FreeAddr(t)}
	text := fmt.Sprintf(`
defaults
  mode http
  retries 0
  timeout connect 5s
  timeout client 1m
  timeout server 1m
  timeout tunnel 10m
listen stats
  bind %s
  stats enable
  stats uri /
listen gateways
  bind %s
  balance roundrobin
  option httpchk GET /readyz
  default-server check inter 5s fall 1 rise 1
`, p.stats, address)
	for i, g := range gateways {
		text += fmt.Sprintf("  server g%d %s\n", i, strings.TrimPrefix(g.url, "http://"))
	}
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &tail{}
	cmd := exec.Command("haproxy", "-db", "-f", path)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; run `make deps`", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has no state
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("HAProxy:\n%s", log)
		}
	})
	p.awaitUp(t, len(gateways))
	return p
}

// awaitUp waits until HAProxy has found each of n gateways ready.
func (p proxy) awaitUp(t *testing.T, n int) {
	t.Helper()
	gatewaytest.WaitFor(t, "HAProxy finds every process ready", func() bool {
		r := newClient().do(http.MethodGet, "http://"+p.stats+"/;csv", "")
		up := 0
		for line := range strings.Lines(r.body) {
			if strings.HasPrefix(line, "gateways,g") && strings.Contains(line, ",UP,") && strings.Contains(line, ",L7OK,") {
				up++
			}
		}
		return up == n
	})
}

// lookTime is how long a person looks into the camera: from before HAProxy notices
// that a process is not ready until after its lame duck.
const lookTime = 25 * time.Second

// person stands in front of the camera, in one check after the other. No check ends
// with a result, because the picture is blurred.
type person struct {
	picture     []byte
	checks      int
	interrupted []string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	small := visiontest.Scene(visiontest.Face(t), [3]int{18, 18, 36}).SubImage(image.Rect(0, 0, 36, 36))
	return &person{picture: visiontest.JPEG(t, visiontest.Scene(small, [3]int{320, 240, 320}))}
}

// look makes checks until ctx ends.
func (p *person) look(ctx context.Context, l *load, gateway, key string) {
	for ctx.Err() == nil {
		if err := p.check(ctx, l, gateway, key); err != nil && ctx.Err() == nil {
			p.interrupted = append(p.interrupted, err.Error())
			rest(ctx, time.Second)
		}
		p.checks++
	}
}

// check makes one check, which the person leaves after lookTime. It returns nil if
// nothing has interrupted the person. A page that is sent away while it waits in
// line joins the line of another process, so this is no interruption.
func (p *person) check(ctx context.Context, l *load, gateway, key string) error {
	conn, err := l.openCamera(ctx, gateway, key)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	var nonce []byte
	for frame, begun := uint32(0), time.Now(); time.Since(begun) < lookTime; {
		var message struct {
			Place       int
			Nonce, Next string
		}
		err := wsjson.Read(ctx, conn, &message)
		switch {
		case websocket.CloseStatus(err) == websocket.StatusGoingAway && nonce == nil:
			return nil
		case err != nil:
			return err
		case message.Next != "":
			return nil
		case message.Place > 0:
			continue
		case message.Nonce != "":
			if nonce, err = hex.DecodeString(message.Nonce); err != nil {
				return err
			}
		}
		rest(ctx, 250*time.Millisecond)
		sent := append(wire.BigEndian.AppendUint32(slices.Clone(nonce), frame), p.picture...)
		if err := conn.Write(ctx, websocket.MessageBinary, sent); err != nil {
			return err
		}
		frame++
	}
	return nil
}
