package mutants

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fault is one fault of a gateway.
type fault struct {
	name         string
	caught       string               // the case that must fail
	request      func(*http.Request)  // changes what the gateway sees
	answer       func(*reply)         // changes what the client sees
	delivery     func(*post) []string // changes a webhook; returns the sessions for which it is sent as well
	silent       bool                 // no webhook may arrive
	answered     func(int) int        // changes the receiver's answer to a webhook
	follows      bool                 // follows redirects of the receiver
	noRetryAfter bool                 // loses the Retry-After of the receiver
	impatient    int                  // the answer that it takes after five seconds without one; 0: it waits
	costly       bool                 // waits long, for the full run only
	brief        bool                 // shortens the waits, because nothing will arrive
}

// reply is an answer on its way to the client.
type reply struct {
	method, path, query string
	asked               http.Header
	status              int
	header              http.Header
	body                []byte
}

// is reports whether the answer is for an operation: create, status, detected-age
// or page.
func (r *reply) is(what string) bool {
	if what == "page" {
		return strings.HasPrefix(r.path, "/v/")
	}
	return strings.HasPrefix(r.path, "/api/") && strings.HasSuffix(r.path, "/"+what)
}

// created returns the path of the page and the members of the session that the answer
// says was created, and otherwise "".
func (r *reply) created() (page string, session map[string]any) {
	if !r.is("create") || r.status != http.StatusCreated || json.Unmarshal(r.body, &session) != nil {
		return "", nil
	}
	u, err := url.Parse(fmt.Sprint(session["verification_url"]))
	if err != nil {
		return "", nil
	}
	return u.Path, session
}

// edit changes the members of a JSON answer.
func (r *reply) edit(change func(map[string]any)) {
	members := map[string]any{}
	if json.Unmarshal(r.body, &members) == nil {
		change(members)
		r.body, _ = json.Marshal(members) // it was decoded from JSON
	}
}

// post is a webhook on its way to the receiver.
type post struct {
	path   string
	header http.Header
	body   []byte
	secret string
	twice  bool // send it again under another ID
	drop   bool
}

// edit changes the members of the event and signs it again.
func (p *post) edit(change func(map[string]any)) {
	members := map[string]any{}
	if json.Unmarshal(p.body, &members) == nil {
		change(members)
		p.body, _ = json.Marshal(members) // it was decoded from JSON
		p.sign()
	}
}

// sign signs the delivery with the tenant's secret.
func (p *post) sign() {
	// the gateway wrote it, so it decodes
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(p.secret, "whsec_"))
	h := hmac.New(sha256.New, key)
	h.Write([]byte(p.header.Get("webhook-id") + "." + p.header.Get("webhook-timestamp") + "."))
	h.Write(p.body)
	p.header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(h.Sum(nil)))
}

// proxy is a proxy in front of a gateway, and between the gateway and the
// receiver.
type proxy struct {
	url, hookURL string
	secret       string // of the tenant's webhooks

	fault    atomic.Pointer[fault]
	gateway  atomic.Pointer[url.URL]
	receiver atomic.Pointer[string]
}

func newProxy(t *testing.T) *proxy {
	p := &proxy{}
	p.fault.Store(&fault{})
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(p.gateway.Load())
			r.Out.Host = r.In.Host
			r.Out.Header.Del("Accept-Encoding") // so that answers are not compressed and can be changed as text
			if change := p.fault.Load().request; change != nil {
				change(r.Out)
			}
		},
		ModifyResponse: p.modify,
	})
	t.Cleanup(front.Close)
	hooks := httptest.NewServer(http.HandlerFunc(p.forward))
	t.Cleanup(hooks.Close)
	p.url, p.hookURL = front.URL, hooks.URL
	return p
}

// modify lets the fault change an answer.
func (p *proxy) modify(res *http.Response) error {
	change := p.fault.Load().answer
	if change == nil {
		return nil
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	r := &reply{res.Request.Method, res.Request.URL.Path, res.Request.URL.RawQuery, res.Request.Header, res.StatusCode,
		res.Header, body}
	change(r)
	res.StatusCode, res.Status = r.status, ""
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(r.body)), int64(len(r.body))
	res.Header.Set("Content-Length", strconv.Itoa(len(r.body)))
	return nil
}

// forward lets the fault change a delivery, and passes it on.
func (p *proxy) forward(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	d := &post{path: req.URL.Path, header: req.Header.Clone(), body: body, secret: p.secret}
	var more []string
	if change := p.fault.Load().delivery; change != nil {
		more = change(d)
	}
	if d.drop {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	status, header := p.post(req, d)
	if status == 0 {
		panic(http.ErrAbortHandler) // as the receiver did
	}
	if after := header.Get("Retry-After"); after != "" && !p.fault.Load().noRetryAfter {
		w.Header().Set("Retry-After", after)
	}
	if change := p.fault.Load().answered; change != nil {
		status = change(status)
	}
	if d.twice {
		d.header.Set("webhook-id", "evt_0190c0de-0000-7000-8000-000000000001")
		d.sign()
		p.post(req, d)
	}
	for _, session := range more {
		d.edit(func(m map[string]any) { m["session_id"] = session })
		p.post(req, d)
	}
	w.WriteHeader(status)
}

// post passes a delivery to the receiver of the run and returns the answer's
// status and header; 0 if the receiver closed the connection. Without a run it accepts
// every delivery, so that there are no later retries.
func (p *proxy) post(of *http.Request, d *post) (int, http.Header) {
	to := p.receiver.Load()
	if to == nil {
		return http.StatusNoContent, nil
	}
	req, err := http.NewRequestWithContext(of.Context(), http.MethodPost, *to+d.path, bytes.NewReader(d.body))
	if err != nil {
		return http.StatusInternalServerError, nil
	}
	req.Header = d.header
	client := &http.Client{}
	if p.fault.Load().impatient != 0 {
		client.Timeout = 5 * time.Second
	}
	if !p.fault.Load().follows {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	res, err := client.Do(req)
	switch {
	case os.IsTimeout(err):
		return p.fault.Load().impatient, nil
	case errors.Is(err, io.EOF):
		return 0, nil
	case err != nil:
		return http.StatusNoContent, nil
	}
	res.Body.Close()
	return res.StatusCode, res.Header
}

// listen opens the receiver of a run.
func (p *proxy) listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	to := "http://" + l.Addr().String()
	p.receiver.Store(&to)
	return l
}
