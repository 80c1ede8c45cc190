//go:build linux && patroni

package chaos

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"agegate/proof/table"
)

// trespass is a request by which somebody without a password would take over the
// cluster or stop it.
type trespass struct{ method, path, body string }

// The requests to Patroni, and to etcd by both of its interfaces. SCRIPT is what
// PostgreSQL would run.
var (
	toPatroni = []trespass{
		{http.MethodPatch, "/config", `{"postgresql": {"parameters": {"archive_command": "SCRIPT"}}}`},
		{http.MethodPut, "/config", `{"postgresql": {"parameters": {"archive_command": "SCRIPT"}}}`},
		{http.MethodPost, "/restart", `{}`},
		{http.MethodPost, "/reload", `{}`},
		{http.MethodPost, "/reinitialize", `{"force": true}`},
		{http.MethodPost, "/failover", `{"candidate": "db2"}`},
		{http.MethodPost, "/switchover", `{"leader": "db1"}`},
		{http.MethodDelete, "/restart", ""},
		{http.MethodDelete, "/switchover", ""},
	}
	toEtcd = []trespass{
		{http.MethodGet, "/v2/keys/postgresql/agegate/config", ""},
		{http.MethodPut, "/v2/keys/postgresql/agegate/config?value=SCRIPT", ""},
		{http.MethodDelete, "/v2/keys/postgresql?recursive=true", ""},
		{http.MethodPut, "/v2/keys/elsewhere?value=x", ""},
		{http.MethodPost, "/v2/members", `{"peerURLs": ["http://10.9.9.9:2380"]}`},
		{http.MethodDelete, "/v2/auth/enable", ""},
		{http.MethodPut, "/v2/auth/users/other", `{"user": "other", "password": "x"}`},
		{http.MethodPost, "/v3/kv/put", `{"key": "eA==", "value": "eA=="}`},
		{http.MethodPost, "/v3/cluster/member/add", `{"peerURLs": ["http://10.9.9.9:2380"]}`},
		{http.MethodPost, "/v3/auth/disable", `{}`},
		{http.MethodPost, "/v3/maintenance/snapshot", `{}`},
	}
)

// closed sends the requests without a password and with a wrong one. With the right
// one Patroni obeys, so the refusals are about the password.
func (c *cluster) closed(r *table.Row, primary *node) {
	c.t.Helper()
	script := filepath.Join(primary.dir, "trespassed")
	sent, obeyed := 0, []string(nil)
	for _, of := range []struct {
		address  string
		requests []trespass
	}{{primary.rest, toPatroni}, {primary.client, toEtcd}} {
		for _, q := range of.requests {
			q.path = strings.ReplaceAll(q.path, "SCRIPT", script)
			q.body = strings.ReplaceAll(q.body, "SCRIPT", "touch "+script)
			for _, password := range []string{"", "wrong"} {
				sent++
				if status := c.send(of.address, q, password); status < http.StatusBadRequest {
					obeyed = append(obeyed, fmt.Sprintf("%s %s, password %q: %d", q.method, q.path, password, status))
				}
			}
		}
	}
	r.None(fmt.Sprintf("of %d requests without the right password obeyed", sent), obeyed)
	r.None("connections accepted without encryption, or by etcd's peers without a certificate", c.plain(primary))
	same := trespass{http.MethodPatch, "/config", `{"ttl": 20}`}
	if status := c.send(primary.rest, same, "rest's"); status != http.StatusOK {
		c.t.Errorf("with its password Patroni answers %d", status)
	}
	time.Sleep(8 * time.Second) // Patroni applies new settings every 5
	// The next file of the log lets PostgreSQL archive the last one.
	c.run(primary, "psql -d postgres -c 'SELECT pg_switch_wal()'", primary.socket()...)
	time.Sleep(2 * time.Second)
	if _, err := os.Stat(script); err == nil {
		c.t.Error("PostgreSQL ran the script")
	}
	c.awaitHealthy()
}

// plain returns the ports of a node that accept a request without encryption, or of
// its peers one without a certificate.
func (c *cluster) plain(n *node) (accepted []string) {
	c.t.Helper()
	for _, address := range []string{n.rest, n.client, n.peer} {
		if res, err := http.Get("http://" + address + "/"); err == nil {
			if _ = res.Body.Close(); res.StatusCode != http.StatusBadRequest { // Go's "HTTP request to an HTTPS server"
				accepted = append(accepted, fmt.Sprintf("%s without encryption: %s", address, res.Status))
			}
		}
	}
	stranger := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if res, err := stranger.Get("https://" + n.peer + "/members"); err == nil {
		_ = res.Body.Close()
		accepted = append(accepted, n.peer+" without a certificate: "+res.Status)
	}
	cmd := exec.CommandContext(c.t.Context(), "psql", "-Atc", "SELECT 1",
		"postgres://"+c.user()+":super@"+n.pg+"/postgres?sslmode=disable")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "no encryption") {
		accepted = append(accepted, fmt.Sprintf("%s without encryption: %s", n.pg, out))
	}
	return accepted
}

// send sends a request and returns the status of the answer, or 0 if Patroni broke
// over it.
func (c *cluster) send(address string, q trespass, password string) int {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), q.method, "https://"+address+q.path, strings.NewReader(q.body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if password != "" {
		req.SetBasicAuth("patroni", password)
	}
	patient := http.Client{Transport: c.http.Transport} // a wrong password takes etcd a while
	res, err := patient.Do(req)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}
