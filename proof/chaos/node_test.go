//go:build linux && patroni

package chaos

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"agegate/internal/store/pgtest"
)

// node is one machine of the cluster.
type node struct {
	cluster          *cluster
	name, dir        string
	pg, rest         string           // addresses of PostgreSQL and of Patroni's REST API
	client, peer     string           // addresses of etcd for clients and, past the link, for its peers
	link             *httptest.Server // what its peers see instead; certify starts it
	env              []string
	etcd, patroni    *exec.Cmd
	etcdLog, patrLog *tail
}

func (c *cluster) newNode(name string) *node {
	host, port, _ := net.SplitHostPort(pgtest.FreeAddr(c.t))
	first, err := strconv.Atoi(port)
	if err != nil {
		c.t.Fatal(err)
	}
	at := func(i int) string { return net.JoinHostPort(host, strconv.Itoa(first+i)) }
	n := &node{cluster: c, name: name, dir: c.path(name), pg: at(0), rest: at(1), client: at(2), peer: at(3)}
	n.link = httptest.NewUnstartedServer(nil)
	n.link.Listener.Close()
	if n.link.Listener, err = net.Listen("tcp", net.JoinHostPort(host, "0")); err != nil {
		c.t.Fatal(err)
	}
	c.mkdir(n.dir)
	settings := map[string]string{
		"PATRONI_NAME": name, "PATRONI_RESTAPI_LISTEN": n.rest, "PATRONI_RESTAPI_CONNECT_ADDRESS": n.rest,
		"PATRONI_RESTAPI_USERNAME": "patroni", "PATRONI_RESTAPI_PASSWORD": "rest's",
		"PATRONI_RESTAPI_CERTFILE": n.tls("node.crt"), "PATRONI_RESTAPI_KEYFILE": n.tls("node.key"),
		"PATRONI_RESTAPI_CAFILE": c.path("ca.crt"), "PATRONI_ETCD_CACERT": c.path("ca.crt"),
		"PATRONI_ETCD_PROTOCOL": "https", "ETCD_CERT_FILE": n.tls("node.crt"), "ETCD_KEY_FILE": n.tls("node.key"),
		"ETCD_PEER_CERT_FILE": n.tls("node.crt"), "ETCD_PEER_KEY_FILE": n.tls("node.key"),
		"ETCD_PEER_TRUSTED_CA_FILE": c.path("ca.crt"), "ETCD_PEER_CLIENT_CERT_AUTH": "true",
		"PATRONI_ETCD_USERNAME": "patroni", "PATRONI_ETCD_PASSWORD": "etcd's",
		"PATRONI_POSTGRESQL_LISTEN": n.pg, "PATRONI_POSTGRESQL_CONNECT_ADDRESS": n.pg,
		"PATRONI_POSTGRESQL_DATA_DIR": filepath.Join(n.dir, "data"), "PATRONI_POSTGRESQL_BIN_DIR": c.bin,
		"PATRONI_POSTGRESQL_PGPASS": filepath.Join(n.dir, "pgpass"), "PATRONI_ETCD_HOST": n.client,
		"PATRONI_SUPERUSER_USERNAME": c.user(), "PATRONI_SUPERUSER_PASSWORD": "super",
		"PATRONI_REPLICATION_USERNAME": "replicator", "PATRONI_REPLICATION_PASSWORD": "replicator",
		"ETCD_NAME": name, "ETCD_ENABLE_V2": "true", "ETCD_DATA_DIR": filepath.Join(n.dir, "etcd"),
		"ETCD_LISTEN_CLIENT_URLS":    "https://" + n.client,
		"ETCD_ADVERTISE_CLIENT_URLS": "https://" + n.client, "ETCD_LISTEN_PEER_URLS": "https://" + n.peer,
		"ETCD_INITIAL_ADVERTISE_PEER_URLS": n.linkURL(), "ETCD_INITIAL_CLUSTER_TOKEN": "agegate",
		"PGBACKREST_CONFIG": c.path("pgbackrest.conf"), "PGBACKREST_LOCK_PATH": n.dir,
		"PGBACKREST_PG1_PORT":   strconv.Itoa(first),
		"PGBACKREST_REPO1_PATH": c.path("repository"), "PGBACKREST_PG1_PATH": filepath.Join(n.dir, "data"),
		"PGBACKREST_PG1_SOCKET_PATH": n.dir,
		"PATH":                       c.bin + ":" + os.Getenv("PATH"), "HOME": n.dir, "LC_ALL": "C.UTF-8",
	}
	// The operator's file names all settings that the nodes need.
	for line := range strings.Lines(file(c.t, "node.env")) {
		if key, _, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") && settings[key] == "" &&
			key != "ETCD_INITIAL_CLUSTER" {
			c.t.Fatalf("node.env sets %s, which the test does not", key)
		}
	}
	for key, value := range settings {
		n.env = append(n.env, key+"="+value)
	}
	c.write(c.path("pgbackrest.conf"), file(c.t, "pgbackrest.conf"))
	return n
}

// tls returns the path of the node's certificate or key, which operators install as
// node.crt and node.key.
func (n *node) tls(file string) string {
	return n.cluster.path(strings.Replace(file, "node", n.name, 1))
}

func (n *node) linkURL() string { return "https://" + n.link.Listener.Addr().String() }

// socket returns the settings by which psql finds the node's own server.
func (n *node) socket() []string {
	_, port, _ := net.SplitHostPort(n.pg)
	return []string{"PGHOST=" + n.dir, "PGPORT=" + port}
}

func (n *node) startEtcd() { n.etcd, n.etcdLog = n.cluster.launch(n, "etcd") }

func (n *node) startPatroni() {
	n.patroni, n.patrLog = n.cluster.launch(n, "patroni", filepath.Join(n.dir, "patroni.yaml"))
}

// loss is a way to lose a node, and to get it back.
type loss struct {
	name          string
	lose, getBack func(n *node)
}

var losses = []loss{
	{"node killed", (*node).kill, (*node).start},
	{"Patroni killed", (*node).killPatroni, (*node).startPatroni},
	{"node stands still", (*node).freeze, (*node).thaw},
}

func (n *node) kill() { n.signal(syscall.SIGKILL, n.processes()...) }

func (n *node) start() {
	n.startEtcd()
	n.cluster.awaitEtcd(n)
	n.startPatroni()
}

// killPatroni leaves a primary that nobody watches.
func (n *node) killPatroni() { n.signal(syscall.SIGKILL, n.patroni.Process.Pid) }

func (n *node) freeze() { n.signal(syscall.SIGSTOP, n.processes()...) }

// thaw lets a primary continue that does not know that it was replaced.
func (n *node) thaw() { n.signal(syscall.SIGCONT, n.processes()...) }

// processes returns Patroni and etcd, and PostgreSQL with its children.
func (n *node) processes() []int {
	var found []int
	for _, cmd := range []*exec.Cmd{n.patroni, n.etcd} {
		if cmd != nil {
			found = append(found, cmd.Process.Pid)
		}
	}
	pid, err := os.ReadFile(filepath.Join(n.dir, "data", "postmaster.pid"))
	if err != nil {
		return found // PostgreSQL does not run
	}
	first, _, _ := strings.Cut(string(pid), "\n")
	postmaster, err := strconv.Atoi(first)
	if err != nil {
		n.cluster.t.Fatal(err)
	}
	found = append(found, postmaster)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		// PID (COMMAND) STATE PARENT …
		stat, _ := os.ReadFile(path) // the process may have ended
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == first {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found = append(found, child)
		}
	}
	return found
}

func (n *node) signal(signal syscall.Signal, pids ...int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal) // the process may have ended
	}
}

// split can cut one node's etcd off from the others. Each member of etcd knows
// the others by an HTTP proxy in front of them.
type split struct{ alone atomic.Pointer[cutOff] }

type cutOff struct {
	node *node
	id   string // as etcd names the sender of a request
}

// start starts the proxy in front of a node's etcd, with the node's certificate on
// both sides.
func (s *split) start(n *node, settings *tls.Config) {
	target := &url.URL{Scheme: "https", Host: n.peer}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1}
	host, _, _ := net.SplitHostPort(n.peer)
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}} // etcd compares it with the certificate
	proxy.Transport = &http.Transport{TLSClientConfig: settings, DialContext: from.DialContext}
	proxy.ErrorLog = log.New(io.Discard, "", 0) // etcd stops and starts
	n.link.Config.ErrorLog = proxy.ErrorLog
	n.link.TLS = settings.Clone()
	n.link.TLS.ClientAuth = tls.RequireAndVerifyClientCert
	n.link.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if cut := s.alone.Load(); cut != nil && (cut.node == n || req.Header.Get("X-Server-From") == cut.id) {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, req)
	})
	n.link.StartTLS()
	n.cluster.t.Cleanup(n.link.Close)
}

// cut leaves the node's etcd alone; heal ends that.
func (s *split) cut(n *node) {
	var members []struct {
		ID   uint64
		Name string
	}
	if !n.cluster.get(n.linkURL()+"/members", &members) {
		n.cluster.t.Fatal("etcd does not list its members")
	}
	for _, m := range members {
		if m.Name == n.name {
			s.alone.Store(&cutOff{n, strconv.FormatUint(m.ID, 16)})
		}
	}
	for _, each := range n.cluster.nodes {
		each.link.CloseClientConnections()
	}
}

func (s *split) heal() { s.alone.Store(nil) }
