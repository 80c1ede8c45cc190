package shopper

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"agegate/internal/check/age"
	"agegate/internal/check/document/photo"
	"agegate/internal/check/vision"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/session"
	"agegate/internal/rules/trail"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"
)

// budget limits what one camera stream may use.
type budget struct {
	answer time.Duration // for a frame, including the wait for its turn
	idle   time.Duration // between two frames, and for the answer to a ping
	whole  time.Duration
	frames int
	bytes  int           // of messages
	gap    time.Duration // average time between two frames; frames that come sooner are read later
	burst  int           // number of frames that may come sooner, after a delay in the network
	beat   time.Duration // between two pings, and between two messages about the place in line
}

// photoBudget is the budget for pictures of documents, which are larger and fewer. Between the document and the face,
// the page opens another camera. Before the face is asked for again, the shopper reads why.
var photoBudget = budget{
	answer: 20 * time.Second, idle: time.Minute, whole: session.MaxDocumentCamera + time.Minute, frames: 6000,
	bytes: 512 << 20,
	gap:   100 * time.Millisecond, burst: 5, beat: 3 * time.Second,
}

// streamBudget is more than an honest page needs. Such a page sends at most six frames a second of about 30 KB, for as
// long as the slowest person may take, and the server may take another minute.
var streamBudget = budget{
	answer: 10 * time.Second, idle: 10 * time.Second, whole: age.MaxTime + time.Minute, frames: 3600, bytes: 112 << 20,
	gap: 100 * time.Millisecond, burst: 5, beat: 3 * time.Second,
}

const (
	// sendTime limits the wait for the network to accept a message.
	sendTime = 10 * time.Second
	// messageLimit is slightly more than the maximum size of a frame. A frame that is only a little too large is then
	// refused with the right reason; larger messages are not read.
	messageLimit = age.FrameHeaderBytes + vision.MaxFrameBytes + 1024
)

// Close codes that say how the page continues, in addition to those of RFC 6455. The page knows them by number.
const (
	closeReload    websocket.StatusCode = 4000 // the session has moved on
	closeTakenOver websocket.StatusCode = 4001 // another tab of this browser continues
	closeIdle      websocket.StatusCode = 4002
	closeSpent     websocket.StatusCode = 4003 // a budget is used up
)

// exam judges the frames of a stream: a camera check, or the check of a photographed document.
type exam interface {
	Nonce() [16]byte
	MoreTime() bool
	// take looks at the next frame and writes the effect of its step on the session,
	// also when ctx has ended. It returns the step to show or, as the stream's last, a
	// message. Its errors are errUnwritten and those of age.Capture.Add.
	take(ctx context.Context, f age.Frame) (photo.Step, *onwardMessage, error)
	// finish ends the exam when the stream is closed with the code. It reports
	// whether the attempt was returned, so that the page may start another.
	finish(ctx context.Context, code websocket.StatusCode) (returned bool)
}

// errUnwritten means that the effect of a step could not be written.
var errUnwritten = errors.New("result of a camera check not written")

// unwritten joins errUnwritten to the error of a write; nil stays nil.
func unwritten(err error) error {
	if err != nil {
		return errors.Join(errUnwritten, err)
	}
	return nil
}

// capture makes a camera check over the WebSocket of GET /v/{token}/stream, for the
// browser, or the phone, that the session belongs to.
func (p *Pages) capture(c echo.Context, v visit) error {
	if !v.owner {
		return echo.ErrForbidden
	}
	public, err := url.Parse(p.cfg.VerifyURL)
	if err != nil {
		return err
	}
	opts := &websocket.AcceptOptions{OriginPatterns: []string{public.Host}}
	handshake := &handshake{ResponseWriter: c.Response()}
	conn, err := websocket.Accept(handshake, c.Request(), opts)
	if err != nil {
		return nil // Accept has already answered
	}
	link := &link{conn: conn, raw: handshake.conn}
	defer conn.CloseNow() //nolint:errcheck // nothing is left to send
	stream := &stream{pages: p, link: link, visit: v, inbox: &inbox{frames: make(chan taken, maxCredit)}}
	if !stream.prepare(assisted(c)) {
		link.close(closeReload, "the session has moved on")
		return nil
	}
	// A stream goes on after its request has ended, so that a verdict is written even if the connection is lost. Its
	// work ends when another stream takes over the session.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(c.Request().Context()))
	defer cancel(nil)
	lane := stream.lane
	check, ok := lane.enter(v.sess, link, cancel)
	if !ok {
		link.close(websocket.StatusTryAgainLater, "all places are taken")
		return nil
	}
	defer lane.leave()
	stream.check = check
	checked, end := trail.Span(ctx, "camera check")
	code, reason := stream.run(checked)
	end(nil, slog.String("close_code", code.String()))
	returned := stream.exam != nil && stream.exam.finish(context.WithoutCancel(ctx), code)
	if code == websocket.StatusNormalClosure || returned {
		lane.lose(check, code, reason)
	} else {
		lane.end(check, code, reason)
	}
	return nil
}

// prepare sets the purpose of the stream according to the state of the session, and reports whether there is one.
func (s *stream) prepare(assisted bool) bool {
	p, v := s.pages, s.visit
	switch {
	case p.capturable(v):
		s.lane, s.budget = p.captures, &p.budget
		s.until = v.sess.ExpiresAt.Sub(p.cfg.Sessions.Now())
		s.begin = func() exam {
			return &attempt{Capture: p.cfg.NewCapture(v.sess, v.tenant, assisted), pages: p, visit: v}
		}
	case p.photographable(v):
		s.lane, s.budget = p.documents, &photoBudget
		s.until = session.MaxLifetime // each part of its camera time checks the session's expiry, which moves
		s.begin = func() exam { return &filming{p.cfg.Photos.Record(v.sess, v.claim, assisted), p, v, ""} }
	default:
		return false
	}
	return true
}

// stream is one camera check over one connection.
type stream struct {
	pages  *Pages
	link   *link
	visit  visit
	lane   *captures
	budget *budget
	until  time.Duration // how long it may last at most
	begin  func() exam
	check  *check
	inbox  *inbox
	exam   exam         // nil until the check has a place
	trip   atomic.Int64 // the latest round trip, a time.Duration
}

// run waits for a place and answers frames until the check ends. It returns how to close the connection:
// StatusNormalClosure if the connection is already gone. When work ends, the stream ends too, but what a frame has
// already decided is still written.
func (s *stream) run(work context.Context) (websocket.StatusCode, string) {
	captures, budget := s.lane, s.budget
	routine.Go("receiving of camera frames", func() { s.inbox.receive(work, s.link.conn, budget) })
	// A timer ends the connection with a close code; an expired context would cut it.
	expiry := time.AfterFunc(s.until, func() { captures.end(s.check, closeReload, "the session has expired") })
	defer expiry.Stop()
	if code, reason := s.queue(work); code != 0 {
		return code, reason
	}
	s.exam = s.begin()
	s.inbox.open.Store(true)
	nonce := s.exam.Nonce()
	// The round-trip time is not known yet, and no frame is waiting.
	if s.send(work, hello{Nonce: hex.EncodeToString(nonce[:]), Credit: maxCredit}) != nil {
		return unsent(work)
	}
	running, stop := context.WithCancel(work)
	defer stop()
	routine.Go("measuring of a camera connection", func() { s.measure(running) })
	idle, whole := time.NewTimer(budget.idle), time.NewTimer(budget.whole)
	defer idle.Stop()
	defer whole.Stop()
	for {
		select {
		case <-work.Done():
			return endOf(work)
		case <-whole.C:
			return closeSpent, "time is up"
		case <-idle.C:
			return closeIdle, "no frame came"
		case frame, ok := <-s.inbox.frames:
			if !ok {
				return s.ended(work)
			}
			if code, reason := s.answer(work, frame); code != 0 {
				return code, reason
			}
			idle.Reset(budget.idle)
		}
	}
}

// queue waits in line until the check has a place, and sends the page its place
// in line. It returns how to close, or zero to continue.
func (s *stream) queue(work context.Context) (websocket.StatusCode, string) {
	beat := time.NewTicker(s.budget.beat)
	defer beat.Stop()
	place := 0
	for {
		select {
		case <-work.Done():
			return endOf(work)
		case <-s.inbox.frames: // closed: no frame is accepted before the check has a place
			return s.ended(work)
		case place = <-s.check.news:
			if place == 0 {
				return 0, ""
			}
		case <-beat.C:
			if s.ping(work) != nil && work.Err() == nil {
				return closeIdle, "no sign of life"
			}
		}
		// The place is sent even if it has not changed, so that the page knows that the server is there.
		if s.send(work, queued{Place: place}) != nil {
			return unsent(work)
		}
	}
}

// send writes a message, even when work has ended.
func (s *stream) send(work context.Context, message any) error {
	return s.link.send(context.WithoutCancel(work), message)
}

// ping measures the round-trip time, and fails if the page does not answer. Only the end of the connection ends it,
// because cancelling a ping while it is written would cut the connection.
func (s *stream) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.budget.idle)
	defer cancel()
	began := time.Now()
	err := s.link.conn.Ping(ctx)
	if err == nil {
		s.trip.Store(int64(time.Since(began)))
	}
	return err
}

// measure measures the round-trip time again and again until ctx ends. It does not end
// a check that sends no frames; other code does.
func (s *stream) measure(ctx context.Context) {
	beat := time.NewTicker(s.budget.beat)
	defer beat.Stop()
	for s.ping(ctx) == nil {
		select {
		case <-beat.C:
		case <-ctx.Done():
			return
		}
	}
}

// The round-trip times from which a second, third and fourth frame may be sent before
// the first is answered. On shorter round trips, more frames would only wait and get
// old. On longer ones, with fewer frames a head could move unseen between two frames.
const (
	far      = 100 * time.Millisecond
	farther  = 250 * time.Millisecond
	farthest = 375 * time.Millisecond
)

// credit returns how many frames a page may have unanswered, given the latest round-trip time of its connection.
func credit(trip time.Duration) int {
	switch {
	case trip >= farthest:
		return maxCredit
	case trip >= farther:
		return 3
	case trip >= far:
		return 2
	}
	return 1
}

// ended returns how to close a stream that gets no more messages.
func (s *stream) ended(work context.Context) (websocket.StatusCode, string) {
	if work.Err() != nil {
		return endOf(work)
	}
	return s.inbox.code, s.inbox.reason
}

// unsent returns how to close a stream that cannot send: who ended its work may have closed the connection already.
func unsent(work context.Context) (websocket.StatusCode, string) {
	if work.Err() != nil {
		return endOf(work)
	}
	return websocket.StatusNormalClosure, ""
}

// endOf returns how to close a stream whose work was cancelled.
func endOf(work context.Context) (websocket.StatusCode, string) {
	var end websocket.CloseError
	errors.As(context.Cause(work), &end)
	return end.Code, end.Reason
}

// answer processes one frame and sends the answer. It returns how to close the stream, or zero to continue.
func (s *stream) answer(work context.Context, frame taken) (websocket.StatusCode, string) {
	if s.inbox.more.Swap(false) {
		s.exam.MoreTime()
	}
	frame.Trip = time.Duration(s.trip.Load())
	frameCtx, cancel := context.WithTimeout(work, s.budget.answer)
	defer cancel()
	step, onward, err := s.exam.take(frameCtx, frame.Frame)
	s.lane.review()
	ctx := context.WithoutCancel(work)
	switch {
	case errors.Is(err, errUnwritten):
		s.pages.cfg.Logger.ErrorContext(ctx, errUnwritten.Error(), "code", fault.CodeOf(err))
		return websocket.StatusTryAgainLater, "failed"
	case err != nil && work.Err() != nil:
		return endOf(work)
	case slices.ContainsFunc(foreign, func(known error) bool { return errors.Is(err, known) }):
		return refusal(err)
	case errors.Is(err, context.DeadlineExceeded):
		return websocket.StatusTryAgainLater, "busy"
	case err != nil:
		s.pages.cfg.Logger.LogAttrs(work, slog.LevelError, "camera check failed", slog.Any("error", err), fault.Stack(err))
		return websocket.StatusTryAgainLater, "failed"
	case onward != nil:
		_ = s.link.send(ctx, *onward) // the close code has about the same meaning
		return closeReload, "done"
	}
	s.inbox.held.Add(-1) // before the page can know of it
	err = s.link.send(ctx, guidance{
		Seq: frame.number, Stage: step.Stage, Guidance: step.Guidance, Phase: step.Phase, Prompt: step.Prompt,
		Hint: step.Hint,
		Done: step.Done, Total: step.Total, Progress: step.Progress,
		Remaining: step.Remaining.Milliseconds(), More: step.Extensible, Full: step.Full,
		Credit: credit(time.Duration(s.trip.Load())), Again: whyEnded(step.Step),
	})
	if err != nil {
		return unsent(work)
	}
	return 0, ""
}

// refusal returns how to close a stream after an error that no honest page causes.
func refusal(err error) (websocket.StatusCode, string) {
	if errors.Is(err, vision.ErrFrameTooLarge) {
		return websocket.StatusMessageTooBig, "the picture is too large"
	}
	return websocket.StatusPolicyViolation, "not a frame of this check"
}

// foreign are the errors that no honest page causes.
var foreign = []error{age.ErrMalformedFrame, age.ErrForeignFrame, age.ErrFrameOrder, vision.ErrFrameTooLarge,
	age.ErrFinished}
