package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/gen/client"
	"agegate/internal/lab/testkey"
	"agegate/internal/rules/routine"
	"agegate/internal/rules/webhook"

	"github.com/spf13/cobra"
)

const listenHelp = `Pass the events of your test sessions to a server on this machine, signed as the
gateway delivers them, and print how it answers. Nothing has to reach this machine
from outside: the gateway is asked for events, through the proxy of HTTPS_PROXY
(HTTP_PROXY for an http address) if there is one. Your receiver is reached without
it, unless --proxy says otherwise. No Webhook URL has to be registered.

The test key is read from AGEGATE_API_KEY (svc_test_…). A live key is refused.

It begins with the events of the last minute, or with those after --since: what it
passed on before, it may pass on again, as the gateway may. At Ctrl-C it finishes the
event in hand and says how to go on. Each listener gets all events; with --share 1/2
and --share 2/2, two listeners get half of the sessions each.`

// Times of listening.
const (
	listenWait     = 4                // seconds, the maximum that the contract allows
	listenTimeout  = 15 * time.Second // for an answer from the receiver; the gateway's own webhook timeout
	listenShortest = time.Second      // between tries while the gateway does not answer
	listenLongest  = 15 * time.Second
	listenSince    = time.Minute
	listenNewest   = 50       // events in an answer
	maxListenRead  = 64 << 10 // maximum bytes read of a receiver's answer
)

// listener passes events to a receiver.
type listener struct {
	gateway    *client.ClientWithResponses
	receiver   *http.Client
	forward    string
	asJSON     bool
	out, notes io.Writer

	share, shares int // the listener gets the sessions of one share
}

func (c *cli) listenCommand() *cobra.Command {
	var gateway, forward, replay, since, share string
	var proxy bool
	l := &listener{}
	cmd := &cobra.Command{
		Use: "listen --gateway URL --forward URL", Short: "Pass test events to a server on this machine", Long: listenHelp,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&gateway, "gateway", "", "address of the gateway's API")
	cmd.Flags().StringVar(&forward, "forward", "", "your webhook receiver, such as http://localhost:3000/webhook")
	cmd.Flags().StringVar(&replay, "replay", "", "pass the event of this ID on again, and end")
	cmd.Flags().StringVar(&since, "since", listenSince.String(),
		"begin with the events of this time, or after the event of this ID")
	cmd.Flags().StringVar(&share, "share", "1/1",
		"take one share of the sessions, such as 1/2, and leave the rest to other listeners")
	cmd.Flags().BoolVar(&proxy, "proxy", false, "reach the receiver, too, through the proxy of HTTPS_PROXY or HTTP_PROXY")
	cmd.Flags().BoolVar(&l.asJSON, "json", false, "print one JSON object a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		key, _ := c.env("AGEGATE_API_KEY")
		l.out, l.notes = cmd.OutOrStdout(), cmd.ErrOrStderr()
		if err := l.open(gateway, forward, key, proxy); err != nil {
			return err
		}
		if err := l.take(share); err != nil {
			return err
		}
		if replay != "" {
			return l.replay(cmd.Context(), replay)
		}
		return l.listen(cmd.Context(), since)
	}
	return cmd
}

// open checks the command's arguments. Its errors do not repeat them.
func (l *listener) open(gateway, forward, key string, proxy bool) error {
	var err error
	if l.gateway, err = testkey.Client(gateway, key); err != nil {
		return err
	}
	l.forward = forward
	l.receiver = &http.Client{Timeout: listenTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if !proxy {
		l.receiver.Transport = &http.Transport{DisableKeepAlives: true} // which a receiver may close at any time
	}
	return testkey.CheckURL("--forward", forward)
}

// take sets the share of the sessions that the listener gets.
func (l *listener) take(share string) error {
	one, all, _ := strings.Cut(share, "/")
	var err, other error
	l.share, err = strconv.Atoi(one)
	l.shares, other = strconv.Atoi(all)
	if err != nil || other != nil || l.share < 1 || l.share > l.shares {
		return errors.New("--share must be a share and their number, such as 1/2")
	}
	return nil
}

// mine reports whether an event is of the listener's share. Those of one session
// are of the same share.
func (l *listener) mine(e client.TestEvent) bool {
	last := int(e.SessionID[len(e.SessionID)-1]) // is random
	return last%l.shares == l.share-1
}

// errRefused is wrapped by the error for an answer of the gateway that would be the same on another try.
var errRefused = errors.New("the gateway refuses")

// ask asks for events, and returns the gateway's time as well.
func (l *listener) ask(
	ctx context.Context, params client.ListTestEventsParams,
) ([]client.TestEvent, time.Time, error) {
	answer, err := l.gateway.ListTestEventsWithResponse(ctx, &params)
	if err != nil {
		return nil, time.Time{}, errors.New("the gateway does not answer")
	}
	if answer.JSON200 == nil {
		return nil, time.Time{}, refusal(answer)
	}
	now, err := http.ParseTime(answer.HTTPResponse.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return answer.JSON200.Events, now, nil
}

// refusal returns the error for an answer without events.
func refusal(answer *client.ListTestEventsResponse) error {
	wrongKey := cmp.Or(answer.JSON401, answer.JSON403)
	switch {
	case wrongKey != nil:
		return fmt.Errorf("%w: %s", errRefused, wrongKey.Detail)
	case answer.StatusCode() == http.StatusNotFound:
		return fmt.Errorf("%w: it has no test events; is --gateway the address of its API, and is it new enough?", errRefused)
	case answer.JSON429 != nil:
		return fmt.Errorf("the gateway lets no more listeners of this tenant wait (%s)", answer.JSON429.Detail)
	}
	return fmt.Errorf("the gateway answers %d", answer.StatusCode())
}

// listen passes events on until ctx is done, beginning with those since a time or
// an event. If the gateway does not answer, it tries again, at growing intervals.
func (l *listener) listen(ctx context.Context, since string) error {
	after, err := l.begin(ctx, since)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.notes, "Waiting for events of test sessions. Ctrl-C ends it.\n")
	pause := listenShortest
	for ctx.Err() == nil {
		found, _, err := l.ask(ctx, client.ListTestEventsParams{After: &after, Wait: new(listenWait)})
		if errors.Is(err, errRefused) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(l.notes, "%s; trying again in %s\n", err, pause)
			_ = routine.Wait(ctx, pause)
			pause = min(2*pause, listenLongest)
			continue
		}
		pause = listenShortest
		after = l.passAll(ctx, found, after)
	}
	fmt.Fprintf(l.notes, "Ended. To go on from here: --since %s\n", after)
	return nil
}

// begin returns the event after which the listener begins. The time is that of the
// gateway's clock.
func (l *listener) begin(ctx context.Context, since string) (after string, err error) {
	if strings.HasPrefix(since, "evt_") {
		return since, nil
	}
	past, err := time.ParseDuration(since)
	if err != nil || past < 0 {
		return "", errors.New("--since must be a time, such as 10m, or the ID of an event")
	}
	newest, now, err := l.ask(ctx, client.ListTestEventsParams{})
	if err != nil {
		return "", err
	}
	for _, e := range newest {
		if e.CreatedAt.Before(now.Add(-past)) {
			return e.EventID, nil
		}
	}
	if len(newest) == listenNewest {
		fmt.Fprintf(l.notes, "There are more events since then. It begins with the last %d.\n", listenNewest)
		return justBefore(newest[len(newest)-1].EventID), nil
	}
	return webhook.BeforeAllEvents, nil
}

// passAll passes events on, in order, and returns the last one that it passed, or
// after if there was none. Once ctx is done, it leaves the rest and says so.
func (l *listener) passAll(ctx context.Context, found []client.TestEvent, after string) string {
	for _, e := range found {
		switch {
		case ctx.Err() != nil:
			fmt.Fprintf(l.notes, "%s was not passed on\n", e.EventID)
			continue
		case l.mine(e):
			l.pass(context.WithoutCancel(ctx), e)
		}
		after = e.EventID
	}
	return after
}

// replay passes one event on. An answer that is not 2xx is an error.
func (l *listener) replay(ctx context.Context, id string) error {
	for after := justBefore(id); ; {
		found, _, err := l.ask(ctx, client.ListTestEventsParams{After: &after})
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
