//go:build linux && patroni

package chaos

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// files is where the cluster's configuration is, as operators use it.
const files = "../../deploy/patroni"

// cluster is three PostgreSQL nodes under Patroni, each with its etcd, and an
// HAProxy that leads to the primary: the files of deploy/patroni with addresses
// and directories of the test.
type cluster struct {
	t     *testing.T
	dir   string
	as    *syscall.Credential
	bin   string // of PostgreSQL
	nodes []*node
	http  *http.Client // trusts the nodes, and has the certificate of the first
	proxy string       // address of HAProxy
	split *split
}

// newCluster starts the cluster and waits until each commit is confirmed by a
// second node.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	for _, command := range []string{"patroni", "patronictl", "etcd", "haproxy", "pgbackrest", "curl"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Fatalf("%v; run `make deps`", err)
		}
	}
	c := &cluster{t: t, split: &split{}}
	c.dir, c.bin, c.as = pgtest.Workplace(t)
	c.mkdir(c.path("repository"))
	var members []string
	for i := range 3 {
		n := c.newNode(fmt.Sprintf("db%d", i+1))
		c.nodes = append(c.nodes, n)
		members = append(members, n.name+"="+n.linkURL())
	}
	c.certify()
	for _, n := range c.nodes {
		n.env = append(n.env, "ETCD_INITIAL_CLUSTER="+strings.Join(members, ","))
		c.write(filepath.Join(n.dir, "patroni.yaml"),
			strings.NewReplacer("/var/run/postgresql", n.dir, "/etc/patroni/tls/node", n.tls("node")).
				Replace(file(t, "patroni.yaml")))
		n.startEtcd()
	}
	t.Cleanup(c.end)
	for _, n := range c.nodes {
		c.awaitEtcd(n)
	}
	c.run(c.nodes[0], commands(t, "availability.md", "Set up", 1), "ETCD_PASSWORD=root's")
	c.initialize(c.nodes[0])
	for _, n := range c.nodes[1:] {
		n.startPatroni()
	}
	c.balance()
	c.awaitHealthy()
	return c
}

// initialize starts Patroni on the first node and waits until it leads. A node waits
// forever for another to initialize the cluster if it got the right but not etcd's
// answer, which may happen on a busy machine and always happens once here; or it ends, and
// is started again, as systemd does.
func (c *cluster) initialize(first *node) {
	c.t.Helper()
	taken := trespass{http.MethodPut, "/v2/keys/postgresql/agegate/initialize?value=", ""}
	if status := c.send(first.client, taken, "etcd's"); status != http.StatusCreated {
		c.t.Fatalf("etcd answers %d", status)
	}
	first.startPatroni()
	c.await("first leader", func() bool {
		if log := first.patrLog.String(); strings.Contains(log, "waiting for leader to bootstrap") ||
			strings.Contains(log, "Failed to bootstrap cluster") {
			first.killPatroni()
			c.run(first, commands(c.t, "availability.md", "Set up", 2))
			first.startPatroni()
		}
		return c.primary() == first
	})
}

// awaitEtcd waits until the node's etcd answers and knows the cluster's version,
// without which Patroni does not start.
func (c *cluster) awaitEtcd(n *node) {
	c.t.Helper()
	var version struct {
		Cluster string `json:"etcdcluster"`
	}
	c.await("etcd of "+n.name, func() bool {
		return c.get("https://"+n.client+"/health", nil) && c.get("https://"+n.client+"/version", &version) &&
			strings.Contains(version.Cluster, ".")
	})
}

// balance starts HAProxy.
func (c *cluster) balance() {
	c.t.Helper()
	c.proxy = pgtest.FreeAddr(c.t)
	// The test may run as another user, who cannot become HAProxy's.
	changes := []string{"127.0.0.1:5000", c.proxy, "    user haproxy\n    group haproxy\n", "",
		"/etc/haproxy/agegate-nodes.crt", c.path("ca.crt")}
	for i, n := range c.nodes {
		_, port, _ := net.SplitHostPort(n.rest)
		changes = append(changes, fmt.Sprintf("10.0.0.%d:5432 check port 8008", i+1), n.pg+" check port "+port)
	}
	c.write(c.path("haproxy.cfg"), strings.NewReplacer(changes...).Replace(file(c.t, "haproxy.cfg")))
	c.launch(c.nodes[0], "haproxy", "-f", c.path("haproxy.cfg"))
}

// url returns the gateway's URL of the database, through HAProxy.
func (c *cluster) url() string {
	return "postgres://agegate:shop@" + c.proxy + "/agegate?sslmode=verify-ca&sslrootcert=" + c.path("ca.crt")
}

// launch starts a program of a node, which the kernel kills when the test ends.
func (c *cluster) launch(n *node, program string, args ...string) (*exec.Cmd, *tail) {
	c.t.Helper()
	cmd, log := exec.Command(program, args...), &tail{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = n.dir, n.env, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true, Credential: c.as}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go cmd.Wait()
	return cmd, log
}

// run runs a documented block as the user of the node's database.
func (c *cluster) run(n *node, block string, env ...string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "sh", "-eu", "-c", block)
	cmd.Dir, cmd.Env = n.dir, append(slices.Clone(n.env), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as}
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("%v\n%s\n%s", err, block, out)
	}
}

// end kills everything that runs, and shows the last lines of the logs if the
// test failed.
func (c *cluster) end() {
	for _, n := range c.nodes {
		if c.t.Failed() {
			c.t.Logf("Patroni of %s:\n%s\netcd:\n%s", n.name, n.patrLog, n.etcdLog)
		}
		n.signal(syscall.SIGKILL, n.processes()...)
	}
}

// primary returns the node that Patroni calls the primary, or nil.
func (c *cluster) primary() *node {
	for _, n := range c.nodes {
		if c.get("https://"+n.rest+"/primary", nil) {
			return n
		}
	}
	return nil
}

// awaitHealthy waits until one node is the primary, both others follow it, and
// one of them confirms its commits. A copy that a change of the primary has cut short, as
// on a busy machine, never starts: it is made again, as an operator would. It returns the
// primary.
func (c *cluster) awaitHealthy() (primary *node) {
	c.t.Helper()
	again := trespass{http.MethodPost, "/reinitialize", `{"force": true}`}
	c.await("healthy cluster", func() bool {
		for _, n := range c.nodes {
			if n.patrLog.take("could not locate required checkpoint record") {
				c.t.Logf("%s is copied again: %d", n.name, c.send(n.rest, again, "rest's"))
			}
		}
		primary = c.primary()
		if primary == nil {
			return false
		}
		var all struct {
			Members []struct {
				Role, State string
				Timeline    int
			}
		}
		roles := map[string]int{}
		if c.get("https://"+primary.rest+"/cluster", &all) {
			for _, m := range all.Members {
				if m.State == "running" && m.Timeline == all.Members[0].Timeline {
					roles[m.Role]++
				}
			}
		}
		return roles["leader"] == 1 && roles["sync_standby"] == 1 && roles["replica"] == 1
	})
	return primary
}

// awaitOther waits until another node than the lost one is the primary.
func (c *cluster) awaitOther(lost *node) {
	c.t.Helper()
	c.await("another primary than "+lost.name, func() bool {
		return slices.ContainsFunc(c.nodes, func(n *node) bool {
			return n != lost && c.get("https://"+n.rest+"/primary", nil)
		})
	})
}

func (c *cluster) await(what string, reached func() bool) {
	c.t.Helper()
	for limit := time.Now().Add(table.HangLimit); !reached(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(limit) {
			c.t.Fatalf("no %s within %s", what, table.HangLimit)
		}
	}
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

// user returns the name of the user as whom PostgreSQL runs.
func (c *cluster) user() string {
	cmd := exec.Command("id", "-un")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as}
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (c *cluster) mkdir(dir string) {
	c.t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	c.own(dir)
}

func (c *cluster) write(path, text string) {
	c.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.own(path)
}

func (c *cluster) own(path string) {
	if c.as == nil {
		return
	}
	if err := os.Chown(path, int(c.as.Uid), int(c.as.Gid)); err != nil {
		c.t.Fatal(err)
	}
}

// file returns one of the operator's files.
func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(files, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// certify makes the nodes' certificates by the documented commands, and starts what
// needs them.
func (c *cluster) certify() {
	c.t.Helper()
	var nodes []string
	for _, n := range c.nodes {
		host, _, _ := net.SplitHostPort(n.client)
		nodes = append(nodes, n.name+"="+host)
	}
	first := *c.nodes[0]
	first.dir = c.dir
	c.run(&first, commands(c.t, "availability.md", "Set up", 0), "NODES="+strings.Join(nodes, " "))
	authority, err := os.ReadFile(c.path("ca.crt"))
	if err != nil {
		c.t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	for _, n := range c.nodes {
		own, err := tls.LoadX509KeyPair(n.tls("node.crt"), n.tls("node.key"))
		if err != nil {
			c.t.Fatal(err)
		}
		settings := &tls.Config{RootCAs: trusted, ClientCAs: trusted, Certificates: []tls.Certificate{own}}
		if c.http == nil {
			c.http = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{TLSClientConfig: settings}}
		}
		c.split.start(n, settings)
	}
}

// get reports whether a request is answered with 200, and decodes the answer into
// into, unless that is nil.
func (c *cluster) get(url string, into any) bool {
	res, err := c.http.Get(url)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK && (into == nil || json.NewDecoder(res.Body).Decode(into) == nil)
}

// take reports whether these bytes have a text, and then forgets them.
func (l *tail) take(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := bytes.Contains(l.buf, []byte(text))
	if found {
		l.buf = nil
	}
	return found
}
