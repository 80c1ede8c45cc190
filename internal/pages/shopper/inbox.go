package shopper

import (
	"context"
	"sync/atomic"
	"time"

	"agegate/internal/check/age"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"
)

// maxCredit is the most frames that a page may have unanswered.
const maxCredit = age.FramesUnderWay

// The round trips from which a second frame, a third, and a fourth travel while
// the first is looked at. On shorter ones they would only wait here and grow old;
// with fewer of them on longer ones, a head would move unseen between two frames.
const (
	far      = 100 * time.Millisecond
	farther  = 250 * time.Millisecond
	farthest = 375 * time.Millisecond
)

// inbox receives the messages of one page. It takes frames while the check has
// a place and no more of them than a page may have unanswered; it drops others.
type inbox struct {
	frames chan taken   // closed when no message comes any more
	held   atomic.Int32 // frames taken and not yet answered
	open   atomic.Bool  // the check has a place
	more   atomic.Bool  // the page has asked for more time

	// How to close the connection, once frames is closed. StatusNormalClosure
	// is for one that the page has closed or that was lost.
	code   websocket.StatusCode
	reason string
}

// taken is a frame for the capture, which counts only those that it gets.
type taken struct {
	age.Frame
	number uint32 // among all that the page has sent
}

func newInbox() *inbox { return &inbox{frames: make(chan taken, maxCredit)} }

// receive reads messages until the connection or a budget ends, or a message
// comes that no honest page sends. work is only waited with.
func (b *inbox) receive(work context.Context, conn *websocket.Conn, budget *budget) {
	b.code, b.reason = b.read(work, conn, budget)
	close(b.frames)
}

func (b *inbox) read(work context.Context, conn *websocket.Conn, budget *budget) (websocket.StatusCode, string) {
	conn.SetReadLimit(messageLimit)
	pace := rate.NewLimiter(rate.Every(budget.gap), budget.burst)
	bytes, dropped := 0, uint32(0)
	for range budget.frames {
		// With work, an end that has a code would cut the connection instead.
		kind, message, err := conn.Read(context.WithoutCancel(work))
		received := time.Now()
		switch {
		case err != nil:
			return websocket.StatusNormalClosure, ""
		case kind == websocket.MessageText && string(message) == moreTime:
			b.more.Store(true)
			continue // it counts as a frame, so that it cannot be repeated for ever
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

// credit is how many frames a page may have unanswered, by the latest round
// trip on its connection.
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
