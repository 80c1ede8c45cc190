package dashboard

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/fault"

	"github.com/labstack/echo/v4"
)

// ErrSent is returned by Once for a form that was sent before.
var ErrSent = errSent

// Once sends a form with a nonce.
func Once(accounts *account.Service, nonce string) error {
	c := echo.New().NewContext(httptest.NewRequest(http.MethodPost, "/", nil), httptest.NewRecorder())
	r := &request{Context: c, pages: &Pages{cfg: Config{Accounts: accounts}}}
	return r.once(&formView{sent: nonce})
}

// Row is a row of the route table, for tests.
type Row struct {
	Method, Path  string
	MinRole       string // the name of the constant
	TestOnly      bool
	Confirmed     bool // requires a recent confirmation in test mode, or without a mode
	ConfirmedLive bool // the same in live mode
}

// Table returns the route table.
func Table() ([]Row, error) {
	p, err := New(Config{URL: "https://gate.example"})
	if err != nil {
		return nil, err
	}
	names := []string{"anyone", "user", "member", "reader", "viewer", "refused", "auditor", "prover", "resender",
		"developer", "owner", "operator"}
	var rows []Row
	for _, r := range p.routes {
		rows = append(rows, Row{
			Method: r.method, Path: r.path, MinRole: names[r.minRole], TestOnly: r.testOnly,
			Confirmed: r.stepUp != never && r.stepUp != inLive, ConfirmedLive: r.stepUp != never,
		})
	}
	return rows, nil
}

// Onward returns where a log-in with this value of next leads.
func Onward(next string) string {
	p := &Pages{}
	for _, f := range p.features() {
		p.routes = append(p.routes, f.routes...)
	}
	return p.onward(next)
}

// Network returns the network of a request's client.
var Network = network

// Missing returns the keys without a text.
func Missing(keys []string) ([]string, error) {
	p, err := New(Config{URL: "https://gate.example"})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(keys, p.set.Has), nil
}

// Gate returns all routes behind the guard. Their handlers only answer 418, so
// that a test sees whether a request was admitted, without any effect.
func Gate(cfg Config) (http.Handler, error) {
	p, err := New(cfg)
	if err != nil {
		return nil, err
	}
	for i := range p.routes {
		p.routes[i].handle = func(r *request) error { return r.NoContent(http.StatusTeapot) }
	}
	return handler(p), nil
}

// Handler returns the pages alone, with the test's dependencies.
func Handler(cfg Config) (http.Handler, error) {
	p, err := New(cfg)
	return handler(p), err
}

func handler(p *Pages) http.Handler {
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		status := http.StatusInternalServerError
		if known := (*echo.HTTPError)(nil); errors.As(err, &known) {
			status = known.Code
		} else if fault.CodeOf(err) == fault.NotFound {
			status = http.StatusNotFound
		}
		p.Error(c, status, err)
	}
	p.Register(e)
	return e
}

// Recognize returns the kind of a text, the part of it that matters, and the
// headers and the body of a webhook.
func Recognize(text string) (kind, found string, header http.Header, body []byte) {
	given := recognize(text)
	if given.kind == pastedWebhook {
		header, body = splitDelivery(given.text)
	}
	return string(given.kind), given.text, header, body
}

// ReadUpload reads the form of a request as the branding page does.
func ReadUpload(req *http.Request, field string, most int64) ([]byte, error) {
	return readUpload(req, field, most)
}
