package certify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"agegate/internal/lab/testkey"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// maxAnswer is how many bytes of an answer are read, if its body is kept.
const maxAnswer = 64 << 10

// order is an order of the shop.
type order struct {
	id         uuid.UUID // of its session
	successURL string    // as far as it is known
	browser    *browser  // of the buyer

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
	body    []byte // if it was kept
}

func (v visit) String() string {
	if v.class != "" {
		return "no answer: " + string(v.class)
	}
	return fmt.Sprintf("answer %d", v.status)
}

// open sends a request in a browser, over the guarded transport. It follows no
// redirect. If keep is true, it reads the answer's body.
func (r *run) open(o *order, method, address string, form *Request, keep bool) visit {
	ctx, cancel := context.WithTimeout(r.ctx, r.Limit)
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
	res, err := client.Do(req)
	if err != nil {
		return visit{class: webhook.Classify(err)}
	}
	defer func() { _ = res.Body.Close() }() // closing cannot change what was read
	v := visit{status: res.StatusCode, onward: res.Header.Get("Location"), session: res.Header.Get(sessionHeader)}
	if keep {
		if v.body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer)); err != nil {
			return visit{class: webhook.Classify(err)}
		}
	}
	return v
}

// orderIn begins an order at the shop in a browser, and returns it with its session, which must
// have been created for this run.
func (r *run) orderIn(buyer *browser) *order {
	o := &order{browser: buyer}
	v := r.request(o, &r.target.Order, "", true)
	if v.class != "" || v.status >= 400 {
		stopf("the shop took no order by %s: %s; give in order what the shop's own page sends, with method, form or json",
			r.target.Order.Method, v)
	}
	if !isLink(v.address()) {
		stopf("the shop's answer to an order (%d) leads to no verification URL; redirect to it, or answer "+
			"with JSON that has verification_url", v.status)
	}
	r.adopt(o, v)
	return o
}

// request sends a request of the target about a session.
func (r *run) request(o *order, q *Request, id string, keep bool) visit {
	return r.open(o, q.Method, q.at(id), q, keep)
}

// adopt takes the session of an order from the shop's answer.
func (r *run) adopt(o *order, v visit) {
	id, err := uuid.Parse(cmp.Or(v.session, v.says().SessionID))
	switch {
	case err != nil:
		stopf("the shop's answer to an order does not name its session; add the header %s with the session's ID, or "+
			"session_id to the JSON", sessionHeader)
	case r.named[id]:
		stopf("the shop gave a new order the session of an earlier one, so that one pass would do for both; " +
			"it must create one for each order, with an Idempotency-Key of its own")
	case !must(r.gateway.Pending(r.ctx, id)):
		stopf("the order's session is not an open session of the key's tenant")
	}
	r.named[id] = true
	o.id, o.link, o.redirect = id, v.address(), new(string)
	o.told = v.told(o.browser, r.target.Order.URL)
	if r.cancels {
		r.tellCancel(o)
	}
	o.successURL = fill(r.target.SuccessURL, o)
	o.asker = r.copyOf(o)
}

// isLink reports whether an address looks like a verification URL.
func isLink(address string) bool { return strings.Contains(address, "/v/") }

// says returns what the JSON of the shop's answer to an order names. Text that is not JSON names nothing.
func (v visit) says() (said struct {
	SessionID       string `json:"session_id"`
	VerificationURL string `json:"verification_url"`
}) {
	_ = json.Unmarshal(v.body, &said)
	return said
}

// address returns the verification URL to which an answer leads, or "".
func (v visit) address() string { return cmp.Or(v.onward, v.says().VerificationURL) }

// released returns how often an order was released.
func (r *run) released(o *order) int {
	v := r.request(o, &r.target.Probe, o.id.String(), true)
	if v.status >= 400 && o.asker != nil { // the buyer's cookies may have gone since
		v = r.request(o.asker, &r.target.Probe, o.id.String(), true)
	}
	if v.class != "" || v.status != http.StatusOK {
		stopf("the probe got no answer 200: %s; probe.url must answer for each order that was begun", v)
	}
	var said struct {
		Released *int `json:"released"`
	}
	if err := json.Unmarshal(v.body, &said); err != nil || said.Released == nil || *said.Released < 0 {
		stopf(`the probe must be answered with JSON such as {"released": 0}`)
	}
	return *said.Released
}

// force gives an order's session a result. It reports false for a spoof, if no session of the
// tenant ends so: it checks documents only.
func (r *run) force(o *order, result session.Result) bool {
	var err error
	*o.redirect, err = r.gateway.Force(r.ctx, o.link, result)
	switch {
	case result == session.ResultSpoof && errors.Is(err, testkey.ErrNotForced):
		return false
	case err != nil:
		stopf("the session could not be given a result: %w", err)
	case must(r.gateway.Pending(r.ctx, o.id)):
		stopf("the session could not be given a result: it is still open")
	}
	return true
}

// redirectOf returns where the gateway redirects an order's browser after a pass.
func (r *run) redirectOf(o *order) string {
	if *o.redirect == "" {
		r.force(o, session.ResultVerified)
	}
	if *o.redirect == "" {
		stopf("the gateway does not redirect after a pass")
	}
	return *o.redirect
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

func newEventID() string { return "evt_" + newID().String() }
