package door

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/pgtest"
)

// TestCheck: `door check` names what is wrong, and costs nothing.
func TestCheck(t *testing.T) {
	t.Parallel()
	address := pgtest.FreeAddr(t)
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_LISTEN="+address, "AGEGATE_VERIFY_URL=http://"+address)
	register := func(host string) tenant.Credentials {
		return g.Shop(t, "", func(s *tenant.Tenant) { s.SuccessURL, s.CancelURL = host+"/", host+"/" })
	}
	s := &site{Gateway: g, shop: register("http://forum.example"), url: "http://forum.example", log: &gatewaytest.Log{}}
	other := register("http://elsewhere.example")
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	defer elsewhere.Close()
	for _, tt := range []struct {
		settings []string
		skew     time.Duration
		want     string
	}{
		{nil, 0, ""},
		{[]string{"AGEGATE_API_KEY=" + s.shop.Live.APIKey, "AGEGATE_REDIRECT_SECRET=" + s.shop.Live.RedirectSecret}, 0, ""},
		{[]string{"AGEGATE_REDIRECT_SECRET=" + other.Test.RedirectSecret}, 0, "AGEGATE_REDIRECT_SECRET is not the one"},
		{[]string{"AGEGATE_API_KEY=" + other.Test.APIKey}, 0, "DOOR_URL: register http://forum.example/"},
		{[]string{"AGEGATE_API_KEY=svc_test_0123456789ABCDEFGHIJKLMNOPQRSTUV2nuRgb"}, 0, "AGEGATE_API_KEY is refused"},
		{[]string{"AGEGATE_URL=http://" + pgtest.FreeAddr(t)}, 0, "AGEGATE_URL: the gateway cannot be reached"},
		{[]string{"AGEGATE_URL=" + elsewhere.URL}, 0, "AGEGATE_URL is not the gateway's"},
		{[]string{"DOOR_REDIS=redis://" + pgtest.FreeAddr(t)}, 0, "DOOR_REDIS does not answer"},
		{nil, 5 * time.Minute, "the clocks of this machine and of the gateway differ by 5m"},
		{nil, -5 * time.Minute, "the clocks"},
	} {
		d := s.newDoor(t, tt.settings...)
		s.clock.Advance(tt.skew)
		err := d.Check(t.Context())
		s.clock.Advance(-tt.skew)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: %v, want %q", tt.settings, err, tt.want)
		}
	}
	if n := g.Count(t, "sessions WHERE livemode"); n != 0 {
		t.Errorf("%d live sessions", n)
	}
}
