package bench

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"agegate/internal/gatewaytest"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// film is the stream of one shopper's camera.
type film struct {
	conn *websocket.Conn
	head []byte // the nonce, and space for the sequence number
	next uint32
}

// guidance is the server's answer to a frame, or its message that the check has
// ended.
type guidance struct {
	Guidance string `json:"guidance"`
	Next     string `json:"next"`
}

// answerTime is the maximum wait for an answer.
const answerTime = 2 * time.Minute

// openFilm opens the camera of a session in a new browser, after the given steps
// on its page: forms as path?fields, or a query of the page itself.
func openFilm(ctx context.Context, g *gatewaytest.Gateway, s gatewaytest.Created, steps ...string) (*film, error) {
	browser, page := gatewaytest.Browser(), g.Path(s.VerificationURL)
	res, err := browser.Get(page)
	for _, step := range steps {
		if err != nil {
			return nil, err
		}
		_ = res.Body.Close()
		path, fields, _ := strings.Cut(step, "?")
		if path == "" {
			res, err = browser.Get(page + step)
			continue
		}
		form, parseErr := url.ParseQuery(fields)
		if parseErr != nil {
			return nil, parseErr
		}
		res, err = browser.PostForm(page+"/"+path, form)
	}
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		return nil, fmt.Errorf("%s answered %d", steps[len(steps)-1], res.StatusCode)
	}
	conn, _, err := websocket.Dial(ctx, strings.Replace(page, "http", "ws", 1)+"/stream",
		&websocket.DialOptions{HTTPClient: browser})
	if err != nil {
		return nil, err
	}
	f := &film{conn: conn}
	for f.head == nil {
		var hello struct {
			Nonce string `json:"nonce"` // empty while the check waits in line
		}
		if err := f.read(ctx, &hello); err != nil {
			return nil, err
		}
		if hello.Nonce != "" {
			nonce, err := hex.DecodeString(hello.Nonce)
			if err != nil {
				return nil, err
			}
			f.head = append(nonce, 0, 0, 0, 0)
		}
	}
	return f, nil
}

func (f *film) read(ctx context.Context, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return wsjson.Read(ctx, f.conn, into)
}

// show sends a frame and returns its answer.
func (f *film) show(ctx context.Context, jpeg []byte) (a guidance, err error) {
	binary.BigEndian.PutUint32(f.head[16:], f.next)
	f.next++
	if err := f.conn.Write(ctx, websocket.MessageBinary, append(f.head[:20:20], jpeg...)); err != nil {
		return a, err
	}
	return a, f.read(ctx, &a)
}
