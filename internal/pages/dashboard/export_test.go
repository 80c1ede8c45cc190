package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"

	"agegate/internal/backoffice/account"
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/fault"

	"github.com/labstack/echo/v4"
)

// Once returns a function that sends a form with a nonce, which is accepted once.
func Once(accounts *account.Service) (func(nonce string) error, error) {
	type outcome struct{}
	p := &Pages{cfg: Config{Accounts: accounts, URL: "https://gate.example"}}
	err := p.serve(append(p.features(), desk.Feature{Routes: []desk.Route{{
		Method: http.MethodGet, Path: "/once", Handle: func(r *desk.Request) error {
			*r.Ctx().Value(outcome{}).(*error) = r.Once(&desk.FormView{Sent: r.QueryParam("nonce")})
			return nil
		},
	}}}))
	pages := handler(p)
	return func(nonce string) (err error) {
		ctx := context.WithValue(context.Background(), outcome{}, &err)
		pages.ServeHTTP(httptest.NewRecorder(),
			httptest.NewRequestWithContext(ctx, http.MethodGet, "https://gate.example/once?nonce="+nonce, nil))
		return err
	}, err
}

// Row is a row of the route table, for tests.
type Row struct {
	Method, Path  string
	MinRole       string // the name of the constant
	TestOnly      bool
	Reads         bool
	Confirmed     bool // requires a recent confirmation in test mode, or without a mode
	ConfirmedLive bool // the same in live mode
}

// Table returns the route table.
func Table() ([]Row, error) {
	p, err := anyPages()
	if err != nil {
		return nil, err
	}
	names := []string{"anyone", "user", "member", "reader", "viewer", "refused", "auditor", "prover", "resender",
		"developer", "owner", "operator"}
	var rows []Row
	for _, f := range p.features() {
		for _, r := range f.Routes {
			rows = append(rows, Row{
				Method: r.Method, Path: r.Path, MinRole: names[r.MinRole], TestOnly: r.TestOnly, Reads: r.Reads,
				Confirmed: r.StepUp != desk.Never && r.StepUp != desk.InLive, ConfirmedLive: r.StepUp != desk.Never,
			})
		}
	}
	return rows, nil
}

var anyPages = sync.OnceValues(func() (*Pages, error) { return New(Config{URL: "https://gate.example"}) })

// Onward returns where a log-in with this value of next leads.
func Onward(next string) string {
	p, err := anyPages()
	if err != nil {
		return err.Error()
	}
	return p.Onward(next)
}

// Missing returns the keys without a text.
func Missing(keys []string) ([]string, error) {
	p, err := anyPages()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(keys, p.Set.Has), nil
}

// Gate returns all routes behind the guard. Their handlers only answer 418, so
// that a test sees whether a request was admitted, without any effect.
func Gate(cfg Config) (http.Handler, error) {
	p := &Pages{cfg: cfg}
	features := p.features()
	for _, f := range features {
		for i := range f.Routes {
			f.Routes[i].Handle = func(r *desk.Request) error { return r.NoContent(http.StatusTeapot) }
		}
	}
	err := p.serve(features)
	return handler(p), err
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

// Recognize returns the kind of a text, and the part of it that matters.
func Recognize(text string) (kind, found string) {
	given := recognize(text)
	return string(given.kind), given.text
}
