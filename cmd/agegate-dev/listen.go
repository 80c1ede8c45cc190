package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/gen/client"
	"agegate/internal/rules/webhook"

	"github.com/spf13/cobra"
)

const listenHelp = `Pass the events of your test sessions to a server on this machine, signed as the
gateway delivers them, and print how it answers. Nothing has to reach this machine
from outside: the gateway is asked for events, through the proxy of HTTPS_PROXY if
there is one. No Webhook URL has to be registered.

The test key is read from AGEGATE_API_KEY (svc_test_…). A live key is refused. Events
made while the command runs are passed on; --replay passes one on again and ends.`

// Times of listening.
const (
	listenWait     = 4 * time.Second  // the maximum that the contract allows
	listenTimeout  = 15 * time.Second // for an answer from the gateway or the receiver; the gateway's own webhook timeout
	listenShortest = time.Second      // between tries while the gateway does not answer
	listenLongest  = 15 * time.Second
	maxListenRead  = 64 << 10 // maximum bytes read of a receiver's answer
)

// listener passes events to a receiver.
type listener struct {
	gateway    *client.ClientWithResponses
	receiver   *http.Client
	forward    string
	asJSON     bool
	out, notes io.Writer
}

func (c *cli) listenCommand() *cobra.Command {
	var gateway, forward, replay string
	l := &listener{}
	cmd := &cobra.Command{
		Use: "listen --gateway URL --forward URL", Short: "Pass test events to a server on this machine", Long: listenHelp,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&gateway, "gateway", "", "address of the gateway's API")
	cmd.Flags().StringVar(&forward, "forward", "", "your webhook receiver, such as http://localhost:3000/webhook")
	cmd.Flags().StringVar(&replay, "replay", "", "pass the event of this ID on again, and end")
	cmd.Flags().BoolVar(&l.asJSON, "json", false, "print one JSON object a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		key, _ := c.env("AGEGATE_API_KEY")
		l.out, l.notes = cmd.OutOrStdout(), cmd.ErrOrStderr()
		if err := l.open(gateway, forward, key); err != nil {
			return err
		}
		if replay != "" {
			return l.replay(cmd.Context(), replay)
		}
		return l.listen(cmd.Context())
	}
	return cmd
}

// open checks the command's arguments. Its errors do not repeat them.
func (l *listener) open(gateway, forward, key string) error {
	for name, address := range map[string]string{"--gateway": gateway, "--forward": forward} {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("%s must be an absolute http or https URL", name)
		}
	}
	switch {
	case strings.HasPrefix(key, "svc_live_"):
		return errors.New("AGEGATE_API_KEY is a live key: listening needs a test key (svc_test_…), and a live key does not " +
			"belong on a developer's machine")
	case !strings.HasPrefix(key, "svc_test_"):
		return errors.New("AGEGATE_API_KEY must be a test key (svc_test_…)")
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	l.forward = forward
	l.receiver = &http.Client{Timeout: listenTimeout, CheckRedirect: noRedirect}
	var err error
	l.gateway, err = client.NewClientWithResponses(strings.TrimRight(gateway, "/"),
		client.WithHTTPClient(&http.Client{Timeout: listenTimeout, CheckRedirect: noRedirect}),
		client.WithRequestEditorFn(func(_ context.Context, req *http.Request) error {
			req.Header.Set("X-API-Key", key)
			return nil
		}))
	return err
}

// refusedError is an answer of the gateway that would be the same on another try.
type refusedError struct{ detail string }

func (e refusedError) Error() string { return "the gateway refuses: " + e.detail }

// events asks for events after the given ID. With an empty ID it does not wait.
func (l *listener) events(ctx context.Context, after string, wait time.Duration) ([]client.TestEvent, error) {
	params := &client.ListTestEventsParams{}
	if after != "" {
		params.After = &after
	}
	if seconds := int(wait.Seconds()); seconds > 0 {
		params.Wait = &seconds
	}
	answer, err := l.gateway.ListTestEventsWithResponse(ctx, params)
	switch {
	case err != nil:
		return nil, errors.New("the gateway does not answer")
	case answer.JSON200 != nil:
		return answer.JSON200.Events, nil
	case answer.JSON401 != nil:
		return nil, refusedError{answer.JSON401.Detail}
	case answer.JSON403 != nil:
		return nil, refusedError{answer.JSON403.Detail}
	case answer.StatusCode() == http.StatusNotFound:
		return nil, refusedError{"it has no test events; is --gateway the address of its API, and is it new enough?"}
	}
	return nil, fmt.Errorf("the gateway answers %d", answer.StatusCode())
}

// listen passes events on until ctx is done. If the gateway does not answer, it
// tries again, at growing intervals.
func (l *listener) listen(ctx context.Context) error {
	newest, err := l.events(ctx, "", 0)
	if err != nil {
		return err
	}
	after := webhook.BeforeAllEvents
	if len(newest) > 0 {
		after = newest[0].EventID
	}
	fmt.Fprintf(l.notes, "Waiting for events of test sessions. Ctrl-C ends it.\n")
	pause := listenShortest
	for ctx.Err() == nil {
		found, err := l.events(ctx, after, listenWait)
		if _, refused := errors.AsType[refusedError](err); refused {
			return err
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(l.notes, "%s; trying again in %s\n", err, pause)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			pause = min(2*pause, listenLongest)
			continue
		}
		pause = listenShortest
		for _, e := range found {
			after = e.EventID
			l.pass(ctx, e)
		}
	}
	return nil
}

// replay passes one event on. An answer that is not 2xx is an error.
func (l *listener) replay(ctx context.Context, id string) error {
	for after := justBefore(id); ; {
		found, err := l.events(ctx, after, 0)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return errors.New("there is no such event of a test session of this tenant")
		}
		if i := slices.IndexFunc(found, func(e client.TestEvent) bool { return e.EventID == id }); i >= 0 {
			if answer := l.pass(ctx, found[i]); answer < 200 || answer > 299 {
				return errors.New("the receiver did not answer 2xx")
			}
			return nil
		}
		after = found[len(found)-1].EventID
	}
}

// justBefore returns an ID that sorts before an event's, but after those of all
// earlier events. After it, the gateway lists the event and perhaps some earlier ones.
func justBefore(id string) string {
	const tail = 12 // hexadecimal digits of a UUID's last group
	if len(id) != len(webhook.BeforeAllEvents) {
		return webhook.BeforeAllEvents
	}
	n, err := strconv.ParseUint(id[len(id)-tail:], 16, 64)
	if err != nil || n == 0 {
		return webhook.BeforeAllEvents
	}
	return fmt.Sprintf("%s%012x", id[:len(id)-tail], n-1)
}

// passed describes how an event was passed on.
type passed struct {
	EventID   string `json:"event_id"`
	SessionID string `json:"session_id"`
	Status    string `json:"status"` // status in the event
	Answer    int    `json:"answer"` // status of the receiver's answer; 0 without one
	TookMS    int64  `json:"took_ms"`
}

// pass sends an event to the receiver as the gateway would, prints the answer,
// and returns the answer's status, or 0.
func (l *listener) pass(ctx context.Context, e client.TestEvent) int {
	p := passed{EventID: e.EventID, SessionID: e.SessionID.String()}
	var event client.CompletionEvent
	if json.Unmarshal([]byte(e.Body), &event) == nil {
		p.Status = string(event.Status)
	}
	started := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.forward, bytes.NewReader([]byte(e.Body)))
	if err == nil {
		req.Header = http.Header{
			"Content-Type": {"application/json"}, "Webhook-Id": {e.Headers.WebhookID},
			"Webhook-Timestamp": {e.Headers.WebhookTimestamp}, "Webhook-Signature": {e.Headers.WebhookSignature},
		}
		var res *http.Response
		if res, err = l.receiver.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxListenRead)) // only the status is used
			_ = res.Body.Close()
			p.Answer = res.StatusCode
		}
	}
	p.TookMS = time.Since(started).Milliseconds()
	l.print(p)
	return p.Answer
}

func (l *listener) print(p passed) {
	if l.asJSON {
		_ = json.NewEncoder(l.out).Encode(p) //nolint:errchkjson // only standard output can fail
		return
	}
	answer := "no answer: is the receiver running?"
	if p.Answer != 0 {
		answer = strings.TrimSpace(fmt.Sprintf("%d %s", p.Answer, http.StatusText(p.Answer)))
	}
	fmt.Fprintf(l.out, "%s  %s  %-18s  %s, %d ms\n", p.EventID, p.SessionID, p.Status, answer, p.TookMS)
}
