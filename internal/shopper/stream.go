package shopper

import (
	"context"
	"encoding/hex"
	"errors"
	"net/url"
	"time"

	"agegate/internal/age"
	"agegate/internal/fault"
	"agegate/internal/liveness"
	"agegate/internal/session"
	"agegate/internal/vision"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"
)

// budget is what one camera stream may use.
type budget struct {
	idle   time.Duration // between two frames
	whole  time.Duration
	frames int
	bytes  int           // of messages
	gap    time.Duration // between two frames on average; more are answered later
	burst  int           // frames that may come sooner, after a delay in the network
}

// streamBudget is more than an honest page needs: at most seven frames a second
// of some 30 KB, for as long as the slowest person may take.
var streamBudget = budget{
	idle: 10 * time.Second, whole: 8 * time.Minute, frames: 3000, bytes: 96 << 20,
	gap: 100 * time.Millisecond, burst: 5,
}

const (
	// answerTime bounds the wait for a free set of models and for the network.
	answerTime = 10 * time.Second
	// messageLimit is more than a frame may weigh, so that a frame little too
	// large is refused by name; what is over it is not read at all.
	messageLimit = age.FrameHeaderBytes + vision.MaxFrameBytes + 1024
)

// Close codes that tell the page how to go on, beside those of RFC 6455. The
// page knows them by number.
const (
	closeReload    websocket.StatusCode = 4000 // the session has moved on
	closeTakenOver websocket.StatusCode = 4001 // another tab of this browser goes on
	closeIdle      websocket.StatusCode = 4002
	closeSpent     websocket.StatusCode = 4003 // a budget is used up
)

// hello is the first message of a stream: what must precede every frame.
type hello struct {
	Nonce string `json:"nonce"` // 32 hex digits
}

// guidance answers one frame. It never holds a verdict, an age or a score.
type guidance struct {
	Seq       uint32          `json:"seq"`
	Guidance  vision.Guidance `json:"guidance"`
	Phase     age.Phase       `json:"phase"`
	Prompt    liveness.Prompt `json:"prompt"`
	Hint      liveness.Hint   `json:"hint"` // to be told with the prompt
	Done      int             `json:"done"`
	Total     int             `json:"total"`
	Progress  float64         `json:"progress"`  // of the present prompt, 0 to 1
	Remaining int64           `json:"remaining"` // milliseconds until the prompt lapses; 0 when nothing waits
	More      bool            `json:"more"`      // the message moreTime would be granted
	Full      bool            `json:"full"`      // the next frame should have the full size, others need not
}

// moreTime is the one text message of a page: the shopper asks for more time
// for the present prompt. It is not answered; the next guidance has the time.
const moreTime = "more_time"

// onwardMessage is the last message of a check that has ended by itself. It
// does not tell the verdict.
type onwardMessage struct {
	Next string `json:"next"` // "reload"; "retry": nothing had begun, the page offers the camera again
}

// stream answers GET /v/{token}/stream, the WebSocket of a camera check.
func (p *Pages) stream(c echo.Context) error {
	v, err := p.visit(c)
	if err != nil {
		return err
	}
	return p.capture(c, v)
}

// capture makes a camera check over a WebSocket for the browser, or the phone,
// that the session belongs to.
func (p *Pages) capture(c echo.Context, v visit) error {
	if !v.owner {
		return echo.ErrForbidden
	}
	opts := &websocket.AcceptOptions{OriginPatterns: []string{hostOf(p.cfg.VerifyURL)}}
	handshake := &handshake{ResponseWriter: c.Response()}
	conn, err := websocket.Accept(handshake, c.Request(), opts)
	if err != nil {
		return nil // Accept has answered
	}
	link := &link{conn: conn, raw: handshake.conn}
	defer conn.CloseNow() //nolint:errcheck // nothing is left to be told
	if !p.capturable(v) {
		link.close(closeReload, "the session has moved on")
		return nil
	}
	// A stream outlives its request, so that a verdict is written even if the
	// connection is lost meanwhile, but its work ends when another stream takes
	// the session over.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(c.Request().Context()))
	defer cancel(nil)
	leave, ok := p.captures.enter(v.sess, link, cancel)
	if !ok {
		link.close(websocket.StatusTryAgainLater, "all places are taken")
		return nil
	}
	defer leave()
	stream := &stream{pages: p, link: link, visit: v, capture: p.cfg.NewCapture(v.sess, assisted(c))}
	code, reason := stream.run(ctx)
	if err := stream.useUp(context.WithoutCancel(ctx)); err != nil {
		p.cfg.Logger.Error("end of the last attempt not written", "code", fault.CodeOf(err))
	}
	p.captures.end(link, code, reason)
	return nil
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Host
}

// stream is one camera check over one connection.
type stream struct {
	pages   *Pages
	link    *link
	visit   visit
	capture Capture
	begun   bool // the challenge: an attempt is counted
	last    bool // no attempt follows this one, and how it ends is not yet written
}

// run answers frames until the check ends and returns how to close. When work
// ends, so does the stream, but what a frame has already decided is still
// written.
func (s *stream) run(work context.Context) (websocket.StatusCode, string) {
	ctx := context.WithoutCancel(work)
	s.link.conn.SetReadLimit(messageLimit)
	budget := &s.pages.budget
	// Timers end the connection with a code; an expired context would cut it.
	left := s.visit.sess.ExpiresAt.Sub(s.pages.cfg.Sessions.Now())
	expiry := time.AfterFunc(left, func() { s.pages.captures.end(s.link, closeReload, "the session has expired") })
	defer expiry.Stop()
	nonce := s.capture.Nonce()
	if err := s.link.send(ctx, hello{Nonce: hex.EncodeToString(nonce[:])}); err != nil {
		return websocket.StatusGoingAway, ""
	}
	idle := time.AfterFunc(budget.idle, func() { s.pages.captures.end(s.link, closeIdle, "no frame came") })
	defer idle.Stop()
	whole := time.AfterFunc(budget.whole, func() { s.pages.captures.end(s.link, closeSpent, "time is up") })
	defer whole.Stop()
	pace := rate.NewLimiter(rate.Every(budget.gap), budget.burst)
	bytes := 0
	for range budget.frames {
		kind, message, err := s.link.conn.Read(ctx)
		switch {
		case err != nil:
			return websocket.StatusNormalClosure, ""
		case kind == websocket.MessageText && string(message) == moreTime:
			s.capture.MoreTime()
			continue // it counts as a frame, so that it cannot be repeated for ever
		case kind != websocket.MessageBinary:
			return websocket.StatusUnsupportedData, "frames only"
		}
		idle.Stop()
		if bytes += len(message); bytes > budget.bytes {
			return closeSpent, "too many bytes"
		}
		if pace.Wait(work) != nil {
			return endOf(work)
		}
		if code, reason := s.answer(work, message); code != 0 {
			return code, reason
		}
		idle.Reset(budget.idle)
	}
	return closeSpent, "too many frames"
}

// endOf returns how a stream is closed whose work was cancelled.
func endOf(work context.Context) (websocket.StatusCode, string) {
	var end websocket.CloseError
	errors.As(context.Cause(work), &end)
	return end.Code, end.Reason
}

// answer takes one message and answers it. It returns how to close, or zero
// to go on.
func (s *stream) answer(work context.Context, message []byte) (websocket.StatusCode, string) {
	frame, err := age.ParseFrame(message)
	if err != nil {
		return refusal(err)
	}
	frameCtx, cancel := context.WithTimeout(work, answerTime)
	defer cancel()
	step, err := s.capture.Add(frameCtx, frame)
	switch {
	case err != nil && work.Err() != nil:
		return endOf(work)
	case isForeign(err):
		return refusal(err)
	case errors.Is(err, context.DeadlineExceeded):
		return websocket.StatusTryAgainLater, "busy"
	case err != nil:
		s.pages.cfg.Logger.Error("camera check failed", "error", err)
		return websocket.StatusTryAgainLater, "failed"
	}
	ctx := context.WithoutCancel(work)
	moved, err := s.record(ctx, step)
	switch {
	case err != nil:
		s.pages.cfg.Logger.Error("result of a camera check not written", "code", fault.CodeOf(err))
		return websocket.StatusTryAgainLater, "failed"
	case moved:
		next := "reload"
		if step.Verdict == age.VerdictNoCapture && !s.begun {
			next = "retry"
		}
		_ = s.link.send(ctx, onwardMessage{Next: next}) // the close code says much the same
		return closeReload, "done"
	}
	err = s.link.send(ctx, guidance{
		Seq: frame.Seq, Guidance: step.Guidance, Phase: step.Phase, Prompt: step.Prompt, Hint: step.Hint,
		Done: step.Done, Total: step.Total, Progress: step.Progress,
		Remaining: step.Remaining.Milliseconds(), More: step.Extensible, Full: step.Full,
	})
	if err != nil {
		return websocket.StatusGoingAway, ""
	}
	return 0, ""
}

// refusal is how a stream is closed for what no honest page sends.
func refusal(err error) (websocket.StatusCode, string) {
	if errors.Is(err, vision.ErrFrameTooLarge) {
		return websocket.StatusMessageTooBig, "the picture is too large"
	}
	return websocket.StatusPolicyViolation, "not a frame of this check"
}

// isForeign reports what no honest page causes.
func isForeign(err error) bool {
	for _, known := range []error{age.ErrMalformedFrame, age.ErrForeignFrame, age.ErrFrameOrder, vision.ErrFrameTooLarge, age.ErrFinished} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// record writes what a step means for the session and reports whether the
// page has to move on.
func (s *stream) record(ctx context.Context, step age.Step) (moved bool, err error) {
	if step.AttemptStarted {
		after, err := s.pages.cfg.Sessions.StartAttempt(ctx, s.visit.sess, s.visit.claim)
		if isLate(err) || isDisabled(err) || fault.CodeOf(err) == fault.TooMany {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		s.begun, s.last = true, after.AttemptsLeft() == 0
	}
	if step.Verdict == "" {
		return false, nil
	}
	err = s.settle(ctx, step)
	if isLate(err) || isDisabled(err) {
		err = nil
	}
	return true, err
}

// settle applies a verdict.
func (s *stream) settle(ctx context.Context, step age.Step) error {
	sessions := s.pages.cfg.Sessions
	verdict := session.CheckResult{Source: session.SourceCamera, Estimate: &step.Age, Claim: s.visit.claim}
	switch step.Verdict {
	case age.VerdictMet:
		verdict.Result = session.ResultVerified
	case age.VerdictBelow:
		verdict.Result = session.ResultFallback
	case age.VerdictSpoof:
		_, err := sessions.Strike(ctx, s.visit.sess, s.visit.claim)
		return err
	default:
		return s.useUp(ctx) // unless it was the last, the page offers another attempt
	}
	return persist(ctx, func() error {
		_, err := sessions.Resolve(ctx, s.visit.sess, verdict)
		return err
	})
}

// useUp ends the session's camera check if this was its last attempt and no
// verdict has ended it.
func (s *stream) useUp(ctx context.Context) error {
	if !s.last {
		return nil
	}
	s.last = false
	err := persist(ctx, func() error {
		_, err := s.pages.cfg.Sessions.UseUp(ctx, s.visit.sess)
		return err
	})
	if isLate(err) || isDisabled(err) {
		return nil
	}
	return err
}

// persist calls write again when the database does not answer: what a camera
// check has come to must not be lost to a short failure. write decides on the
// session's row, so that a second call does no harm.
func persist(ctx context.Context, write func() error) error {
	for pause := time.Second; ; pause *= 2 {
		err := write()
		if fault.CodeOf(err) != fault.Unavailable || pause > 4*time.Second {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}
