package certify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/http/httpguts"
)

// Way is one of the three ways in which a merchant learns of a pass.
type Way string

// The ways.
const (
	WayRedirect Way = "redirect"
	WayWebhook  Way = "webhook"
	WayPolling  Way = "polling"
)

var ways = []Way{WayRedirect, WayWebhook, WayPolling}

// Request is a request to the shop. {session} in the URL stands for the ID of
// the order's session.
type Request struct {
	Method string            `yaml:"method"` // GET or POST; POST by default if there is a form or JSON
	URL    string            `yaml:"url"`
	Form   map[string]string `yaml:"form"`
	JSON   map[string]any    `yaml:"json"` // the body as JSON, in place of a form
}

// Target describes a shop: the content of the file given by --target.
type Target struct {
	SuccessURL string `yaml:"success_url"` // learned from a first order if it is left out
	CancelURL  string `yaml:"cancel_url"`  // learned from the page of each order if it is left out
	WebhookURL string `yaml:"webhook_url"` // no webhook is sent if it is left out
	ReleasesOn []Way  `yaml:"releases_on"` // the ways that release an order
	Age        int    `yaml:"age"`         // that the order needs; the member age of its form or JSON by default
	// sent with every request except webhooks, for example a password of the staging site
	Headers map[string]string `yaml:"headers"`
	// begins an order: answered with a redirect to the verification URL, or JSON with verification_url
	Order  Request       `yaml:"order"`
	Poll   *Request      `yaml:"poll"`   // makes the shop look up the status; nil if it does so by itself
	Probe  Request       `yaml:"probe"`  // answered with JSON: released, how often the order was released
	Replay time.Duration `yaml:"replay"` // after which a pass comes again
	Settle time.Duration `yaml:"settle"` // how long the shop takes to release an order after a delivery or a redirect
	Front  *Front        `yaml:"-"`      // through which the shop reaches its gateway; nil if it does not
}

const (
	sessionParam  = "{session}"
	maxTarget     = 64 << 10 // bytes of the file
	defaultSettle = 2 * time.Second
	maxSettle     = time.Minute
	// defaultReplay is longer than a lock of some seconds, which must not be all that
	// keeps an order from being released again.
	defaultReplay = 11 * time.Second
	// pollSettle is the longest interval of the recommended polling, plus one
	// second.
	pollSettle = 16 * time.Second
)

// ReadTarget reads the description of a shop and checks it. Its errors name the
// field and never contain its value.
func ReadTarget(r io.Reader) (Target, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxTarget+1))
	if err != nil {
		return Target{}, err
	}
	if len(text) > maxTarget {
		return Target{}, fmt.Errorf("it is larger than %d KiB", maxTarget>>10)
	}
	t := Target{Settle: defaultSettle, Replay: defaultReplay}
	in := yaml.NewDecoder(bytes.NewReader(text))
	in.KnownFields(true)
	if err := in.Decode(&t); err != nil {
		return Target{}, notTarget(err)
	}
	if err := in.Decode(new(any)); !errors.Is(err, io.EOF) {
		return Target{}, errors.New("it must be one YAML document")
	}
	return t, t.check()
}

// notTarget returns the error for a file that is not a valid target. The
// library's messages contain values, so only the line number is used.
func notTarget(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	}
	text := err.Error()
	if wrong := (*yaml.TypeError)(nil); errors.As(err, &wrong) && len(wrong.Errors) > 0 {
		text = wrong.Errors[0]
		if _, field, ok := strings.Cut(text, ": field "); ok && strings.Contains(text, "not found") {
			line, _, _ := strings.Cut(text, ":")
			name, _, _ := strings.Cut(field, " ")
			return fmt.Errorf("%s: there is no field %s", line, name)
		}
	}
	if i := strings.Index(text, "line "); i >= 0 {
		line, _, _ := strings.Cut(text[i:], ":")
		return fmt.Errorf("%s is not as documented", line)
	}
	return errors.New("it is not YAML as documented")
}

// check returns what is wrong with the fields, and fills in defaults.
func (t *Target) check() error {
	if len(t.ReleasesOn) == 0 {
		return errors.New("releases_on must name at least one of redirect, webhook and polling")
	}
	for _, w := range t.ReleasesOn {
		if !slices.Contains(ways, w) {
			return errors.New("releases_on must be of redirect, webhook and polling")
		}
	}
	if err := t.checkNumbers(); err != nil {
		return err
	}
	for name, value := range t.Headers {
		if !validHeader(name, value) {
			return errors.New("headers must be names and values of HTTP headers, other than Host and Cookie")
		}
	}
	for _, r := range t.Requests() {
		if err := r.check(); err != nil {
			return fmt.Errorf("%s.%w", r.Name, err)
		}
	}
	if strings.Contains(t.Order.URL, sessionParam) {
		return errors.New("order.url must not have {session}: the order has none yet")
	}
	if !strings.Contains(t.Probe.URL, sessionParam) {
		return errors.New("probe.url must have {session}")
	}
	return nil
}

func (t *Target) checkNumbers() error {
	if t.Age == 0 {
		t.Age = t.Order.age()
	}
	switch {
	case t.Age != 0 && (t.Age < 13 || t.Age > 99):
		return errors.New("age must be from 13 to 99")
	case t.Settle < 0 || t.Settle > maxSettle:
		return fmt.Errorf("settle must be from 0s to %s", maxSettle)
	case t.Replay < 0 || t.Replay > maxSettle:
		return fmt.Errorf("replay must be from 0s to %s", maxSettle)
	}
	return nil
}

// NamedRequest is a request of a target with the name of its field.
type NamedRequest struct {
	Name string
	*Request
}

// Requests returns the requests of the target.
func (t *Target) Requests() []NamedRequest {
	all := []NamedRequest{{"order", &t.Order}, {"probe", &t.Probe}}
	if t.Poll != nil {
		all = append(all, NamedRequest{"poll", t.Poll})
	}
	return all
}

// Place returns the host and port that a request reaches. The path and query may hold a secret.
func (r *Request) Place() string {
	e, err := (tenant.CallbackRule{AllowInsecure: true}).Parse(r.at(uuid.Nil.String()))
	if err != nil {
		return "not a URL"
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

func (r *Request) check() error {
	if r.URL == "" {
		return errors.New("url must be given")
	}
	if r.Method == "" {
		r.Method = http.MethodGet
		if r.Form != nil || r.JSON != nil {
			r.Method = http.MethodPost
		}
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		return errors.New("method must be GET or POST")
	case r.Method == http.MethodGet && (r.Form != nil || r.JSON != nil):
		return errors.New("form and json need the method POST")
	case r.Form != nil && r.JSON != nil:
		return errors.New("form and json cannot both be given")
	}
	if _, err := json.Marshal(r.JSON); err != nil {
		return errors.New("json has a value that JSON cannot have")
	}
	return nil
}

// settle returns how long the shop may take to release an order.
func (t *Target) settle() time.Duration {
	if t.Poll == nil {
		return max(t.Settle, pollSettle)
	}
	return t.Settle
}

func validHeader(name, value string) bool {
	ours := []string{"Host", "Cookie", "Content-Length", "Transfer-Encoding"}
	return httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(value) &&
		!slices.Contains(ours, http.CanonicalHeaderKey(name))
}

// at returns the address of the request for a session.
func (r *Request) at(id string) string {
	return strings.ReplaceAll(r.URL, sessionParam, url.PathEscape(id))
}

// age returns the age that the form or the JSON of an order names, or 0.
func (r *Request) age() int {
	text := r.Form["age"]
	if value, ok := r.JSON["age"]; ok {
		text = fmt.Sprint(value)
	}
	age, err := strconv.Atoi(text)
	if err != nil || age < 13 || age > 99 {
		return 0
	}
	return age
}

// body returns the encoded form or JSON and its content type.
func (r *Request) body() (io.Reader, string) {
	if r.Method != http.MethodPost && r.Form == nil && r.JSON == nil {
		return nil, ""
	}
	if r.JSON != nil {
		return bytes.NewReader(must(json.Marshal(r.JSON))), "application/json"
	}
	return strings.NewReader(encode(r.Form)), "application/x-www-form-urlencoded"
}

// encode returns values as they are written in a query or a form.
func encode(values map[string]string) string {
	all := url.Values{}
	for name, value := range values {
		all.Set(name, value)
	}
	return all.Encode()
}
