package shopper

import (
	"context"
	"sync/atomic"
	"time"

	"agegate/internal/check/age"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"
)

// maxCredit is the maximum number of unanswered frames of a page.
const maxCredit = age.FramesUnderWay

// inbox receives the messages of one page. While the check has a place, it accepts
// frames, but only as many as a page may have unanswered. It drops other frames.
type inbox struct {
	frames chan taken   // closed when no more messages come
	held   atomic.Int32 // frames taken and not yet answered
	open   atomic.Bool  // the check has a place
	more   atomic.Bool  // the page has asked for more time

	// How to close the connection, once frames is closed. StatusNormalClosure
	// means that the page closed it or that it was lost.
	code   websocket.StatusCode
	reason string
}

// taken is a frame for the capture. Numbers in the capture count only accepted frames.
type taken struct {
	age.Frame
	number uint32 // among all that the page has sent
}

// receive reads messages until the connection or a budget ends, or until a message that no honest page sends. It does
// not read with work: it only looks at it to stop waiting.
func (b *inbox) receive(work context.Context, conn *websocket.Conn, budget *budget) {
	b.code, b.reason = b.read(work, conn, budget)
	close(b.frames)
}

func (b *inbox) read(work context.Context, conn *websocket.Conn, budget *budget) (websocket.StatusCode, string) {
	conn.SetReadLimit(messageLimit)
	pace := rate.NewLimiter(rate.Every(budget.gap), budget.burst)
	bytes, dropped := 0, uint32(0)
	for range budget.frames {
		// Reading does not use work: if its context ended, the library would cut the connection without a close code.
		kind, message, err := conn.Read(context.WithoutCancel(work))
		received := time.Now()
		switch {
		case err != nil:
			return websocket.StatusNormalClosure, ""
		case kind == websocket.MessageText && string(message) == moreTime:
			b.more.Store(true)
			continue // counts as a frame, so that it cannot be repeated for ever
		case kind != websocket.MessageBinary:
			return websocket.StatusUnsupportedData, "frames only"
		}
		if bytes += len(message); bytes > budget.bytes {
			return closeSpent, "too many bytes"
		}
		if pace.Wait(work) != nil {
			return endOf(work)
		}
		frame, err := age.ParseFrame(message)
		if err != nil {
			return refusal(err)
		}
		if !b.open.Load() || b.held.Load() >= maxCredit {
			dropped++
			continue
		}
		number := frame.Seq
		frame.Seq -= dropped
		frame.Received = received
		b.held.Add(1)
		b.frames <- taken{frame, number}
	}
	return closeSpent, "too many frames"
}
