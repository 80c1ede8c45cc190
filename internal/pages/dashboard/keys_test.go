package dashboard_test

import (
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
)

// TestKeySaysWhatItsCommandTakes: a new live key's command is not free, and all that is open before it is linked.
func TestKeySaysWhatItsCommandTakes(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	d := newDevBrowser(t, g, "")
	d.stepUp(t)
	g.Exec(t, "UPDATE tenants SET success_url = 'http://localhost:3000/ok', webhook_url = ''")
	if body := d.see(t, 200, "/settings"); strings.Contains(body, `badge warn">Not set`) {
		t.Error("an optional URL that is not set looks like a fault")
	}
	for mode, takes := range map[string]bool{"/test": false, "/live": true} {
		open := `or lead nowhere:</p><ul><li><a href="` + d.base + `/settings/urls">Replace the Success URL</a></li>` +
			`<li>Get the gateway served over https (its operator does)</li></ul>`
		if before := d.see(t, 200, mode+"/keys/new"); strings.Contains(before, open) != takes {
			t.Errorf("%s: the page says what is open before live sessions: %t", mode, !takes)
		}
		_, body := d.fill(t, mode+"/keys/new", 200, "name", "x")
		if strings.Contains(body, "This creates a live session and uses one check. Live mode has its own redirect secret") != takes {
			t.Errorf("%s: the page says that its command takes a check: %t", mode, !takes)
		}
		if !strings.Contains(body, "Idempotency-Key: $(openssl rand -hex 16)") {
			t.Errorf("%s: the command can make two sessions of one order", mode)
		}
	}
}
