package dashboard

import (
	"net/http"
	"net/http/httptest"
	"slices"

	"agegate/internal/account"

	"github.com/labstack/echo/v4"
)

// ErrSent is what Once returns for a form that was sent before.
var ErrSent = errSent

// Once sends a form with a nonce.
func Once(accounts *account.Service, nonce string) error {
	c := echo.New().NewContext(httptest.NewRequest(http.MethodPost, "/", nil), httptest.NewRecorder())
	r := &request{Context: c, pages: &Pages{cfg: Config{Accounts: accounts}}}
	return r.once(&formView{sent: nonce})
}

// Row is a row of the route table, for tests.
type Row struct {
	Method, Path string
	Least        string // anyone, user, viewer, developer, owner or operator
}

// Table returns the route table.
func Table() ([]Row, error) {
	p, err := New(Config{URL: "https://gate.example"})
	if err != nil {
		return nil, err
	}
	names := []string{"anyone", "user", "viewer", "developer", "owner", "operator"}
	var rows []Row
	for _, r := range p.routes {
		rows = append(rows, Row{r.method, r.path, names[r.least]})
	}
	return rows, nil
}

// Onward returns where a log-in with this next leads.
func Onward(next string) string {
	p := &Pages{}
	for _, f := range p.features() {
		p.routes = append(p.routes, f.routes...)
	}
	return p.onward(next)
}

// Missing returns the keys that have no text.
func Missing(keys []string) ([]string, error) {
	p, err := New(Config{URL: "https://gate.example"})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(keys, p.set.Has), nil
}
