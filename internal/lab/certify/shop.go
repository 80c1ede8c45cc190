package certify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"agegate/internal/rules/routine"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// maxAnswer is how many bytes of an answer to an order or a probe are read.
// Other answers are not read.
const maxAnswer = 64 << 10

// order is an order of the shop.
type order struct {
	session session.Session
	browser *browser // of the buyer

	asker    *order            // the order in the browser that it had at first
	crosses  bool              // its further requests come from a page of the gateway
	header   http.Header       // of its further requests; nil for none but the target's
	link     string            // the verification URL
	redirect *string           // where the gateway redirected the browser after a pass; "" before
	told     map[string]string // what the shop's answer said, by the name of a cookie or of a member
}

// in returns the order in another browser.
func (o *order) in(browser *browser) *order {
	moved := *o
	moved.browser = browser
	return &moved
}

// jar returns the cookies of the order's requests.
func (o *order) jar() http.CookieJar {
	if o.crosses {
		return crossing{o.browser}
	}
	return o.browser
}

// visit is the result of opening an address of the shop in an order's browser.
type visit struct {
	class   webhook.Class // empty for an answer, of any status
	status  int
	onward  string // the Location header
	session string // the header that names the order's session
	body    []byte // only for an order or a probe
	latency time.Duration
}

func (v visit) String() string {
	if v.class != "" {
		return "no answer: " + string(v.class)
	}
	return fmt.Sprintf("answer %d", v.status)
}

// open sends a request in a browser, over the guarded transport. It follows no
// redirect. If keep is true, it reads the answer's body.
func (r *run) open(ctx context.Context, o *order, method, address string, form *Request, keep bool) visit {
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	var body io.Reader
	var contentType string
	if form != nil {
		body, contentType = form.body()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return visit{class: webhook.ClassConnect}
	}
	for name, value := range r.target.Headers {
		req.Header.Set(name, value)
	}
	maps.Copy(req.Header, o.header)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("User-Agent", "agegate-certify/1")
	client := &http.Client{Transport: r.Client.Transport(), Jar: o.jar(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	start := time.Now()
	res, err := client.Do(req)
	if err != nil {
		return visit{class: webhook.Classify(err), latency: time.Since(start)}
	}
	defer func() { _ = res.Body.Close() }() // closing cannot change what was read
	v := visit{status: res.StatusCode, onward: res.Header.Get("Location"), session: res.Header.Get(sessionHeader),
		latency: time.Since(start)}
	if keep {
		if v.body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer)); err != nil {
			return visit{class: webhook.Classify(err), latency: v.latency}
		}
	}
	return v
}

// order begins an order at the shop and returns it with its session, which must
// have been created for this run.
func (r *run) order(ctx context.Context) (*order, error) {
	return r.orderIn(ctx, newBrowser())
}

// orderIn begins an order at the shop in a browser.
func (r *run) orderIn(ctx context.Context, buyer *browser) (*order, error) {
	o := &order{browser: buyer}
	v := r.begin(ctx, o)
	if v.class != "" || v.status >= 400 {
		return nil, fmt.Errorf("%w: the shop took no order: %s; give in order what the shop's own page sends, "+
			"with form or json", ErrCannotRun, v)
	}
	if !isLink(v.address()) {
		return nil, fmt.Errorf("%w: the shop's answer to an order (%d) leads to no verification URL; redirect to it, "+
			"or answer with JSON that has verification_url", ErrCannotRun, v.status)
	}
	return o, r.adopt(ctx, o, v)
}

// begin sends the request that begins an order.
func (r *run) begin(ctx context.Context, o *order) visit {
	return r.open(ctx, o, r.target.Order.Method, r.target.Order.URL, &r.target.Order, true)
}

// isLink reports whether an address looks like a verification URL.
func isLink(address string) bool { return strings.Contains(address, "/v/") }

// address returns the verification URL to which an answer leads, or "".
func (v visit) address() string {
	if v.onward != "" {
		return v.onward
	}
	var made struct {
		URL string `json:"verification_url"`
	}
	_ = json.Unmarshal(v.body, &made) // text that is not JSON has no link
	return made.URL
}

// released returns how often an order was released.
func (r *run) released(ctx context.Context, o *order) (int, error) {
	at := r.target.Probe.at(o.session.ID.String())
	v := r.open(ctx, o, r.target.Probe.Method, at, &r.target.Probe, true)
	if v.status >= 400 && o.asker != nil { // the buyer's cookies may have gone since
		v = r.open(ctx, o.asker, r.target.Probe.Method, at, &r.target.Probe, true)
	}
	if v.class != "" || v.status != http.StatusOK {
		return 0, fmt.Errorf("%w: the probe got no answer 200: %s; probe.url must answer for each order that was begun",
			ErrCannotRun, v)
	}
	var said struct {
		Released *int `json:"released"`
	}
	if err := json.Unmarshal(v.body, &said); err != nil || said.Released == nil || *said.Released < 0 {
		return 0, fmt.Errorf(`%w: the probe must be answered with JSON such as {"released": 0}`, ErrCannotRun)
	}
	return *said.Released, nil
}

func wait(ctx context.Context, d time.Duration) error {
	if err := routine.Wait(ctx, d); err != nil {
		return errors.Join(ErrCannotRun, err)
	}
	return nil
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
