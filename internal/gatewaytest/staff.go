package gatewaytest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/credential"

	"github.com/google/uuid"
)

// Staff is a browser at the dashboard. It keeps cookies, follows no redirects,
// and its forms have the dashboard's origin.
type Staff struct {
	User   account.User // zero if nobody is signed in
	client *http.Client
	base   string
	host   string // of the dashboard's public address
}

// Nobody returns a browser in which nobody is signed in.
func (g *Gateway) Nobody() *Staff {
	return &Staff{client: Browser(), base: g.URL, host: g.dashboardHost}
}

// SignIn creates a user who is signed in with the given methods, by default a
// password.
func (g *Gateway) SignIn(t testing.TB, operator bool, methods ...account.Method) *Staff {
	t.Helper()
	if methods == nil {
		methods = []account.Method{account.ByPassword}
	}
	id, token := uuid.Must(uuid.NewV7()), strings.Repeat("x", 7)+uuid.NewString()
	now := g.Clock.Now()
	s := g.Nobody()
	s.User = account.User{ID: id, Email: id.String() + "@staff.example", Name: "Staff", Operator: operator, CreatedAt: now}
	err := g.App.Store.UpdateAccounts(t.Context(), func(tx account.Tx) error {
		if err := tx.InsertUser(s.User); err != nil {
			return err
		}
		return tx.InsertLogin(account.Login{
			Hash: credential.HashToken(token), UserID: id, Methods: methods, CreatedAt: now, SeenAt: now,
			EndsAt: now.Add(account.LoginTTL),
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	cookie := &http.Cookie{Name: "agegate-user", Value: token, Path: "/"}
	if strings.HasPrefix(g.env["AGEGATE_DASHBOARD_URL"], "https://") {
		cookie.Name = "__Host-" + cookie.Name
	}
	s.client.Jar.SetCookies(&url.URL{Scheme: "http", Host: s.host}, []*http.Cookie{cookie})
	return s
}

// Join makes a member of staff a member of a tenant with a role.
func (g *Gateway) Join(t testing.TB, s *Staff, tenantID uuid.UUID, role account.Role) {
	t.Helper()
	err := g.App.Store.UpdateAccounts(t.Context(), func(tx account.Tx) error {
		if _, err := tx.Membership(tenantID, s.User.ID); err == nil {
			return tx.SetRole(tenantID, s.User.ID, role)
		}
		return tx.InsertMembership(account.Membership{TenantID: tenantID, UserID: s.User.ID, Role: role,
			CreatedAt: g.Clock.Now()})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Access returns the access of staff to a tenant's test mode, as of a request
// that begins now.
func (g *Gateway) Access(t testing.TB, s *Staff, tenantID uuid.UUID) account.Access {
	t.Helper()
	cookie := s.client.Jar.Cookies(&url.URL{Scheme: "http", Host: s.host})[0]
	who, err := g.App.Accounts.Identify(t.Context(), cookie.Value)
	if err != nil {
		t.Fatal(err)
	}
	access, err := g.App.Accounts.Enter(t.Context(), who, tenantID, false)
	if err != nil {
		t.Fatal(err)
	}
	return access
}

// StepUp marks the log-in of staff as recently confirmed.
func (g *Gateway) StepUp(t testing.TB, s *Staff) {
	t.Helper()
	until := g.Clock.Now().Add(account.StepUpTTL)
	logins, err := g.App.Store.LoginsOf(t.Context(), s.User.ID, g.Clock.Now())
	if err != nil || len(logins) != 1 {
		t.Fatalf("%d log-ins, %v", len(logins), err)
	}
	logins[0].SteppedUpUntil = &until
	err = g.App.Store.UpdateAccounts(t.Context(), func(tx account.Tx) error {
		return tx.RenewLogin(logins[0].Hash, logins[0], g.Clock.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// At returns the same browser at another address of the dashboard.
func (s *Staff) At(base string) *Staff {
	return &Staff{User: s.User, client: s.client, base: base, host: s.host}
}

// Get requests a page.
func (s *Staff) Get(t testing.TB, path string) (*http.Response, string) {
	t.Helper()
	return s.Send(t, http.MethodGet, path, nil, nil)
}

// Post sends a form like a page of the dashboard.
func (s *Staff) Post(t testing.TB, path string, form url.Values) (*http.Response, string) {
	t.Helper()
	return s.Send(t, http.MethodPost, path, form, map[string]string{"Sec-Fetch-Site": "same-origin"})
}

// Fill opens the form at a path and sends it filled in, like a browser. The form
// posts to the page's own address.
func (s *Staff) Fill(t testing.TB, path string, form url.Values) (*http.Response, string) {
	t.Helper()
	nonce, found := s.nonce(t, path)
	if !found {
		t.Fatalf("%s has no form", path)
	}
	filled := url.Values{"nonce": {nonce}}
	maps.Copy(filled, form)
	return s.Post(t, path, filled)
}

// nonce returns the nonce of the form at a path.
func (s *Staff) nonce(t testing.TB, path string) (string, bool) {
	t.Helper()
	_, page := s.Get(t, path)
	_, after, found := strings.Cut(page, `name="nonce" value="`)
	nonce, _, _ := strings.Cut(after, `"`)
	return nonce, found
}

// Send sends a request with these headers.
func (s *Staff) Send(
	t testing.TB, method, path string, form url.Values, header map[string]string,
) (*http.Response, string) {
	t.Helper()
	all := map[string]string{}
	if form != nil {
		all["Content-Type"] = "application/x-www-form-urlencoded"
	}
	maps.Copy(all, header)
	return s.send(t, method, path, strings.NewReader(form.Encode()), all)
}

func (s *Staff) send(
	t testing.TB, method, path string, body io.Reader, header map[string]string,
) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.base+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	req.Host = cmp.Or(req.Header.Get("Host"), s.host)
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res, read(t, res)
}

// Upload fills in the form at a path like Fill and sends it with a file.
func (s *Staff) Upload(
	t testing.TB, path string, form url.Values, field string, content []byte,
) (*http.Response, string) {
	t.Helper()
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	// the file comes before the fields, and the gateway must find the fields after it
	file, err := parts.CreateFormFile(field, "upload")
	if err == nil {
		_, err = file.Write(content)
	}
	for name, values := range form {
		for _, value := range values {
			if err := parts.WriteField(name, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	if nonce, found := s.nonce(t, path); found {
		if err := parts.WriteField("nonce", nonce); err != nil {
			t.Fatal(err)
		}
	}
	if err = errors.Join(err, parts.Close()); err != nil {
		t.Fatal(err)
	}
	return s.send(t, http.MethodPost, path, &body, map[string]string{
		"Content-Type": parts.FormDataContentType(), "Sec-Fetch-Site": "same-origin",
	})
}

// Try requests a page like Get, outside the test's goroutine. It does not read the
// answer's body.
func (s *Staff) Try(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Host = s.host
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	return res, res.Body.Close()
}

// Open requests a page and leaves its body unread.
func (s *Staff) Open(t testing.TB, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = s.host
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
