package security

import (
	"io"
	"net/http"
	"net/url"
	"testing"
)

func mustURL(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func get(t testing.TB, browser *http.Client, address string) string {
	t.Helper()
	res, err := browser.Get(address)
	return read(t, res, err)
}

func post(t testing.TB, browser *http.Client, address string) string {
	t.Helper()
	res, err := browser.Post(address, "application/x-www-form-urlencoded", nil)
	return read(t, res, err)
}

func read(t testing.TB, res *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
