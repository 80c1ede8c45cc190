package config

import (
	"strings"
	"testing"

	"agegate/internal/store"
	"agegate/internal/store/pgtest"
)

// TestOtherParameters: a real server refuses each parameter that a database URL may not
// have, and knows those that it may.
func TestOtherParameters(t *testing.T) {
	for _, name := range []string{"tcp_user_timeout=1000", "search_path=public", "application_name=shop", "sslsni=0"} {
		if err := checkDatabaseURL("postgres://db/x?" + name); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
		opensWith(t, name, "")
	}
	for name := range otherParameters {
		if err := checkDatabaseURL("postgres://db/x?" + name + "=1"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named: %v", name, err)
		}
		opensWith(t, name+"=1", "parameter "+name+", which the server does not know")
	}
}

func opensWith(t *testing.T, parameter, refused string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: pgtest.EmptyURL(t) + "&" + parameter})
	if err == nil {
		err = s.Close()
	}
	if (err != nil) != (refused != "") || err != nil && !strings.Contains(err.Error(), refused) {
		t.Errorf("with %s: %v", parameter, err)
	}
}
