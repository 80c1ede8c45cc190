package certify

import (
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"agegate/internal/rules/routine"
	"agegate/internal/rules/session"
)

// Front is a server between a shop and its gateway. It passes every request on, but answers the
// lookups of some sessions as a gateway in trouble does.
type Front struct {
	gateway http.Handler

	mu      sync.Mutex
	trouble map[string]trouble // by session
	lookups int                // that were answered so
}

// NewFront returns a server in front of the gateway at an address.
func NewFront(gateway string) (*Front, error) {
	to, err := url.Parse(gateway)
	if err != nil || to.Host == "" {
		return nil, errors.New("the gateway's address must be an absolute URL")
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	return &Front{gateway: pass, trouble: map[string]trouble{}}, nil
}

func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, lookup := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/sessions/"), "/status")
	f.mu.Lock()
	wrong, ok := f.trouble[strings.ToLower(id)]
	if ok = ok && lookup; ok {
		f.lookups++
	}
	f.mu.Unlock()
	if !ok {
		f.gateway.ServeHTTP(w, r)
		return
	}
	wrong.answer(w, r)
}

// set lets the lookups of an order's session fail; without a name, no longer. It returns how many did.
func (f *Front) set(o *order, t trouble) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id := o.id.String(); t.name == "" {
		delete(f.trouble, id)
	} else {
		f.trouble[id] = t
	}
	return f.lookups
}

// trouble is an answer of a gateway, or of a proxy before it, that is no result.
type trouble struct {
	name, body string
	status     int // 0 breaks the connection
	after      time.Duration
}

func (t trouble) answer(w http.ResponseWriter, r *http.Request) {
	_ = routine.Wait(r.Context(), t.after)
	if t.status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(t.status)
	_, _ = io.WriteString(w, t.body) // the shop may be gone
}

// troubles are what a lookup may get in place of a status. A 429 or 503 need not have a Retry-After.
func troubles(patience time.Duration) []trouble {
	all := []trouble{{name: "no connection"}, {name: "no answer in time", after: patience}}
	for _, status := range []int{401, 403, 404, 409, 429, 500, 502, 503} {
		all = append(all, trouble{name: http.StatusText(status), status: status, body: `{"detail":"It failed"}`})
	}
	return append(all, []trouble{
		{name: "a page with 200", status: http.StatusOK, body: "<html>VERIFIED PASSED</html>"},
		{name: "nothing with 200", status: http.StatusOK},
		{name: "another object with 200", status: http.StatusOK, body: `{"detail":"PASSED"}`},
		{name: "PASSED with 500", status: http.StatusInternalServerError, body: `{"status":"PASSED"}`},
	}...)
}

const troubleFix = pollingFix + " After any other answer, or none, ask again later; the order stays held."

var frontCases = []testCase{
	{
		name: "polling.fails", fronted: true, orders: 2, fix: troubleFix,
		title: "A lookup that the gateway does not answer with a status releases nothing, whatever it answers",
		act: func(t *trial) {
			o := t.order()
			// What the lookup of another order said is nothing to this one.
			t.resolve(t.orderIn(newBrowser()), session.ResultVerified)
			t.inTrouble(o, troubles(t.target.Replay))
		},
	},
	{
		name: "polling.recovers", fronted: true, releases: true, fix: troubleFix,
		title: "A lookup that says PASSED releases the order, after others that failed",
		act: func(t *trial) {
			o := t.order()
			t.inTrouble(o, troubles(0))
			t.resolve(o, session.ResultVerified)
		},
	},
}

// inTrouble makes the shop look up an order's session while lookups fail.
func (t *trial) inTrouble(o *order, all []trouble) {
	before := t.target.Front.set(o, trouble{})
	for _, one := range all {
		t.target.Front.set(o, one)
		t.poll(o)
		t.tell(o, one.name)
	}
	if t.target.Front.set(o, trouble{}) == before {
		stopf("no lookup of the shop came through --front; its address must be the shop's gateway")
	}
}
