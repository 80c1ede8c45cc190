package shopper

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/coder/websocket"
)

// script is a capture that answers with prepared steps, in order, and checks
// frames like the real one.
type script struct {
	steps    []age.Step
	next     uint32
	extended int // requests for more time
}

func (s *script) MoreTime() bool {
	s.extended++
	return true
}

var scriptNonce = [16]byte{1, 2, 3}

func (s *script) Nonce() [16]byte { return scriptNonce }

func (s *script) Add(_ context.Context, f age.Frame) (age.Step, error) {
	if f.Nonce != scriptNonce {
		return age.Step{}, age.ErrForeignFrame
	}
	if f.Seq != s.next {
		return age.Step{}, age.ErrFrameOrder
	}
	s.next++
	if len(s.steps) == 0 {
		return age.Step{}, errors.New("the script is over")
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	return step, nil
}

// scripted returns a function that makes a capture of these steps for every
// check.
func scripted(steps ...age.Step) func(session.Session, bool) Capture {
	return func(session.Session, bool) Capture { return &script{steps: steps} }
}

var (
	stepFraming = age.Step{Guidance: vision.GuidanceTooFar, Phase: age.PhaseFraming, Total: 2}
	stepBegun   = age.Step{Guidance: vision.GuidanceOK, Phase: age.PhaseChallenge, Prompt: liveness.PromptHoldStill,
		Done: 1, Total: 2, AttemptStarted: true}
)

func verdict(v age.Verdict, years float64) age.Step {
	return age.Step{Guidance: vision.GuidanceOK, Phase: age.PhaseDone, Done: 2, Total: 2, Verdict: v, Age: years}
}

// camera is a page's connection.
type camera struct {
	t    testing.TB
	conn *websocket.Conn
}

func (b *browser) camera(link string) *camera {
	b.t.Helper()
	conn, _, err := websocket.Dial(b.t.Context(), strings.Replace(link, "http", "ws", 1)+"/stream",
		&websocket.DialOptions{HTTPClient: b.client})
	must(b.t, err)
	b.t.Cleanup(func() { conn.CloseNow() })
	return &camera{t: b.t, conn: conn}
}

func frame(nonce [16]byte, seq uint32) []byte {
	message := append([]byte{}, nonce[:]...)
	return append(binary.BigEndian.AppendUint32(message, seq), "jpeg"...)
}

func (c *camera) send(message []byte) {
	c.t.Helper()
	must(c.t, c.conn.Write(c.t.Context(), websocket.MessageBinary, message))
}

func (c *camera) read() string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	_, message, err := c.conn.Read(ctx)
	must(c.t, err)
	return strings.TrimSpace(string(message))
}

var credited = regexp.MustCompile(`"credit":[1-4]`)

// answer reads the answer to a frame, with the credit of a page that is near: on a
// busy machine the gateway measures a longer way.
func (c *camera) answer() string {
	c.t.Helper()
	return credited.ReplaceAllString(c.read(), `"credit":1`)
}

// closes fails unless the server ends the connection with the code.
func (c *camera) closes(code websocket.StatusCode) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	_, message, err := c.conn.Read(ctx)
	if websocket.CloseStatus(err) != code {
		c.t.Errorf("got %q, %v; want close code %d", message, err, code)
	}
}

// begun returns a session that this browser has started, and its camera.
func (f *fixture) begun(b *browser) (string, *camera) {
	f.t.Helper()
	link := f.session(true)
	b.post(link+"/start", nil)
	c := b.camera(link)
	var first hello
	must(f.t, json.Unmarshal([]byte(c.read()), &first))
	if first.Nonce != hex.EncodeToString(scriptNonce[:]) {
		f.t.Fatalf("nonce %s", first.Nonce)
	}
	return link, c
}

func TestVerdictsOfTheCamera(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		verdict  age.Step
		settings tenant.Tenant
		status   session.Status
		shows    string // empty: the success redirect
	}{
		{"met", verdict(age.VerdictMet, 31.4), tenant.Tenant{}, session.StatusPassed, ""},
		{"below", verdict(age.VerdictBelow, 16.2), tenant.Tenant{}, session.StatusFallback, "screen-fallback"},
		{"below with document check", verdict(age.VerdictBelow, 16.2), tenant.Tenant{DocumentCheck: true},
			session.StatusPending, "screen-document"},
		{"first failed liveness check", verdict(age.VerdictSpoof, 0), tenant.Tenant{}, session.StatusPending, "again"},
		{"no capture", verdict(age.VerdictNoCapture, 0), tenant.Tenant{}, session.StatusPending, "again"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, test.settings, scripted(stepFraming, stepBegun, test.verdict))
			shopper := f.browser()
			link, c := f.begun(shopper)
			c.send(frame(scriptNonce, 0))
			if got, want := c.answer(), `{"seq":0,"guidance":"too_far","phase":"framing","prompt":"","hint":"",`+
				`"done":0,"total":2,"progress":0,"remaining":0,"more":false,"full":false,"credit":1}`; got != want {
				t.Errorf("guidance %s", got)
			}
			c.send(frame(scriptNonce, 1))
			c.read()
			if got := f.stored(link).Attempts; got != 1 {
				t.Errorf("%d attempts", got)
			}
			c.send(frame(scriptNonce, 2))
			if got := c.read(); got != `{"next":"reload"}` {
				t.Errorf("last message %s", got)
			}
			c.closes(closeReload)
			s := f.stored(link)
			if s.Status != test.status || s.DetectedAge != nil {
				t.Errorf("status %s, age %v", s.Status, s.DetectedAge)
			}
			if test.shows == "" {
				passing(t, shopper.get(link), s.ID.String())
			} else {
				shopper.get(link).shows(t, http.StatusOK, test.shows)
			}
		})
	}
}

// unfinished is the last step of a check without a result.
func unfinished(why age.Reason) age.Step {
	s := verdict(age.VerdictNoCapture, 0)
	s.Why = why
	return s
}

// TestReasons: after a check without a result, the page says why, and no reason is a
// strike. If the head did not follow the prompts, the check without movements comes first.
func TestReasons(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason age.Reason
		words  string
		sit    bool // the check without movements is offered first
	}{
		{age.ReasonAstray, "Slowly point your nose", true},
		{age.ReasonUnmoved, "Point your nose further", true},
		{age.ReasonHasty, "Move more slowly", false},
		{age.ReasonDrawn, "Turn off filters", false},
	} {
		t.Run(string(row.reason), func(t *testing.T) {
			f := newFixture(t, tenant.Tenant{}, scripted(stepBegun, unfinished(row.reason)))
			var counted atomic.Int64
			f.pages.cfg.Counted = func(ended string) {
				if ended == "drawn" {
					counted.Add(1)
				}
			}
			shopper := f.browser()
			link, c := f.begun(shopper)
			if strings.Contains(shopper.get(link+"/camera?refused="+string(row.reason)).body, row.words) {
				t.Error("said before any attempt")
			}
			for n := range uint32(2) {
				c.send(frame(scriptNonce, n))
				if got := c.read(); n == 1 && got != `{"next":"reload"}` {
					t.Errorf("last message %s", got)
				}
			}
			page := shopper.get(link + "/camera")
			page.shows(t, http.StatusOK, "again")
			contains(t, page.body, row.words, "<title>Try again</title>", "data-testid=\"again\">")
			eased := shopper.get(link + "/camera?assisted=1&eased").body // replaces what was said
			contains(t, eased, "<title>Ready for your camera?</title>", "data-testid=\"again\" hidden>", "without-camera")
			sit := strings.Index(page.body, `data-testid="assisted"`)
			if (sit < strings.Index(page.body, `data-testid="without-camera"`)) != row.sit {
				t.Error("the check without movements is in another place")
			}
			drawn := counted.Load() == 1
			if s := f.stored(link); s.Strikes != 0 || s.Attempts != 1 || drawn != (row.reason == age.ReasonDrawn) {
				t.Errorf("%d strikes, %d attempts, %d drawn faces counted", s.Strikes, s.Attempts, counted.Load())
			}
		})
	}
}

func TestTheSecondFailedLivenessCheckIsSpoof(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepBegun, verdict(age.VerdictSpoof, 0)))
	shopper := f.browser()
	link, c := f.begun(shopper)
	for n := range 2 {
		if n > 0 {
			c = shopper.camera(link)
			c.read()
		}
		c.send(frame(scriptNonce, 0))
		c.read()
		c.send(frame(scriptNonce, 1))
		c.read()
		c.closes(closeReload)
	}
	shopper.get(link).shows(t, http.StatusOK, "screen-spoof")
}

func TestTheEstimateIsKeptOnlyWithConsent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{AgeVisibility: true}, scripted(stepBegun, verdict(age.VerdictMet, 31.4)))
	shopper := f.browser()
	link := f.session(true)
	shopper.post(link+"/start", nil)
	shopper.post(link+"/consent", map[string][]string{"share": {"yes"}})
	c := shopper.camera(link)
	c.read()
	c.send(frame(scriptNonce, 0))
	c.read()
	c.send(frame(scriptNonce, 1))
	c.read()
	if s := f.stored(link); s.DetectedAge == nil || *s.DetectedAge != 31.4 {
		t.Errorf("estimate %v", s.DetectedAge)
	}
}

func TestMessagesNoPageSendsEndTheCheck(t *testing.T) {
	t.Parallel()
	oversized := make([]byte, age.FrameHeaderBytes+vision.MaxFrameBytes+1)
	copy(oversized, frame(scriptNonce, 1))
	tests := []struct {
		name    string
		kind    websocket.MessageType
		message []byte
		code    websocket.StatusCode
	}{
		{"text", websocket.MessageText, []byte(`{"verdict":"met"}`), websocket.StatusUnsupportedData},
		{"empty", websocket.MessageBinary, nil, websocket.StatusPolicyViolation},
		{"header only", websocket.MessageBinary, frame(scriptNonce, 1)[:20], websocket.StatusPolicyViolation},
		{"foreign nonce", websocket.MessageBinary, frame([16]byte{9}, 1), websocket.StatusPolicyViolation},
		{"repeated", websocket.MessageBinary, frame(scriptNonce, 0), websocket.StatusPolicyViolation},
		{"skipped", websocket.MessageBinary, frame(scriptNonce, 2), websocket.StatusPolicyViolation},
		{"a byte too large", websocket.MessageBinary, oversized, websocket.StatusMessageTooBig},
		{"far too large", websocket.MessageBinary, make([]byte, 2<<20), websocket.StatusMessageTooBig},
	}
	f := newFixture(t, tenant.Tenant{}, scripted(stepBegun, verdict(age.VerdictMet, 40)))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			link, c := f.begun(f.browser())
			c.send(frame(scriptNonce, 0))
			c.read()
			_ = c.conn.Write(t.Context(), test.kind, test.message) // a huge message may be refused while it is being sent
			c.closes(test.code)
			if s := f.stored(link); s.Status != session.StatusPending || s.Attempts != 1 {
				t.Errorf("status %s after %d attempts", s.Status, s.Attempts)
			}
		})
	}
}

func TestBudgetsOfAStream(t *testing.T) {
	t.Parallel()
	one := frame(scriptNonce, 0)
	tests := []struct {
		name   string
		limit  func(*budget)
		frames int
		code   websocket.StatusCode
	}{
		{"idle", func(b *budget) { b.idle = time.Millisecond }, 0, closeIdle},
		{"time", func(b *budget) { b.whole = time.Millisecond }, 0, closeSpent},
		{"frames", func(b *budget) { b.frames = 2 }, 2, closeSpent},
		{"bytes", func(b *budget) { b.bytes = 2*len(one) - 1 }, 1, closeSpent},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, tenant.Tenant{}, scripted(stepFraming, stepFraming, stepFraming))
			test.limit(&f.pages.budget)
			_, c := f.begun(f.browser())
			for n := range test.frames {
				c.send(frame(scriptNonce, uint32(n)))
				c.read()
			}
			if test.name == "bytes" {
				c.send(frame(scriptNonce, 1))
			}
			c.closes(test.code)
		})
	}
}

// A frame that comes too soon is not answered until its time.
func TestFramesArePaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepFraming, stepFraming, stepFraming))
	f.pages.budget.gap, f.pages.budget.burst = time.Hour, 2
	shopper := f.browser()
	link, first := f.begun(shopper)
	for n := range uint32(2) {
		first.send(frame(scriptNonce, n))
		first.read()
	}
	first.send(frame(scriptNonce, 2))
	shopper.camera(link).read()
	first.closes(closeTakenOver) // and there is no guidance before that
}

func TestAStreamOfAnEndedSessionIsSentOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepFraming))
	shopper := f.browser()
	link, c := f.begun(shopper)
	c.conn.CloseNow()
	f.advance(time.Hour)
	shopper.camera(link).closes(closeReload)
}

func TestStreamRefusesAnotherSite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted(stepFraming))
	shopper := f.browser()
	link, _ := f.begun(shopper)
	_, resp, err := websocket.Dial(t.Context(), strings.Replace(link, "http", "ws", 1)+"/stream", &websocket.DialOptions{
		HTTPClient: shopper.client, HTTPHeader: http.Header{"Origin": {"https://evil.example"}},
	})
	if err == nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("%v, %v", resp, err)
	}
}

// The library's own refusals would quote what they refuse.
func TestRefusedHandshakeEchoesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tenant.Tenant{}, scripted())
	shopper := f.browser()
	link := f.session(true)
	shopper.post(link+"/start", nil)
	good := map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
	for _, name := range []string{"Origin", "Connection", "Upgrade", "Sec-WebSocket-Version", "Sec-WebSocket-Key"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link+"/stream", nil)
		must(t, err)
		for header, value := range good {
			req.Header.Set(header, value)
		}
		req.Header.Set(name, "https://cAnArY.example")
		res, err := shopper.client.Do(req)
		must(t, err)
		body, err := io.ReadAll(res.Body)
		must(t, err)
		must(t, res.Body.Close())
		if res.StatusCode < 400 || strings.Contains(string(body)+fmt.Sprint(res.Header), "cAnArY") {
			t.Errorf("%s: %d %v %s", name, res.StatusCode, res.Header, body)
		}
	}
}

// TestMoreTime: the page's only text message asks the capture for more time, and
// the next answer has the time. Any other text ends the stream.
func TestMoreTime(t *testing.T) {
	t.Parallel()
	later := stepBegun
	later.AttemptStarted, later.Remaining, later.Extensible = false, 21*time.Second, true
	later.Hint, later.Progress, later.Full = liveness.HintOtherWay, 0.4, true
	capture := &script{steps: []age.Step{stepBegun, later}}
	f := newFixture(t, tenant.Tenant{}, func(session.Session, bool) Capture { return capture })
	_, c := f.begun(f.browser())
	c.send(frame(scriptNonce, 0))
	c.read()
	must(t, c.conn.Write(t.Context(), websocket.MessageText, []byte("more_time")))
	c.send(frame(scriptNonce, 1))
	want := `{"seq":1,"guidance":"ok","phase":"challenge","prompt":"hold_still","hint":"other_way","done":1,"total":2,"progress":0.4,"remaining":21000,"more":true,"full":true,"credit":1}`
	if got := c.answer(); got != want || capture.extended != 1 {
		t.Errorf("got %s, %d requests; want %s, 1", got, capture.extended, want)
	}
	must(t, c.conn.Write(t.Context(), websocket.MessageText, []byte("more_time_please")))
	c.closes(websocket.StatusUnsupportedData)
}
