//go:build linux

package chaos

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// TestNetwork puts a faulty proxy between the gateway and PostgreSQL.
func TestNetwork(t *testing.T) {
	beside(t, true)
	server := pgtest.NewServer(t, pgtest.FreeAddr(t))
	network := newNetwork(t, server.Addr)
	direct, db := database{"PostgreSQL", server.URL(server.Addr)}, database{"PostgreSQL", server.URL(network.proxy.Listen)}
	r := table.New(t, db.named(" 6 bad network to PostgreSQL"))
	receiver := newReceiver(t, always(accept))
	g := newGateway(t, db)
	l := newLoad(g.newShops(4, receiver), 20*time.Millisecond, g)
	g.start()
	stop := l.start(8)
	time.Sleep(time.Second)

	hole := table.Sized(10*time.Second, 3*time.Second)
	network.add("to", "timeout", "upstream", 1, `{}`)
	network.add("from", "timeout", "downstream", 1, `{}`)
	time.Sleep(hole)
	network.remove("to", "from")
	back := time.Now()
	recovery := l.awaitAfter(t, back)
	time.Sleep(3*time.Second - recovery)

	network.add("slow", "latency", "downstream", 1, `{"latency":200}`)
	time.Sleep(table.Sized(10*time.Second, 2*time.Second))
	network.remove("slow")

	// Each update decides again which connections are reset.
	resets := table.Sized(200, 40)
	for range resets {
		network.update("resets", 0.01)
		time.Sleep(50 * time.Millisecond)
	}
	network.update("resets", 0)
	time.Sleep(time.Second)
	stop()

	creations, completions := l.acknowledged()
	r.Didf("black hole of %s, 200 ms latency, %d times 1 %% of connections reset; %d creations, %d completions", hole,
		resets, creations, completions)
	r.Within("longest request", l.slowest, 6*time.Second)
	r.Within("first acknowledgement after the black hole", recovery, 2*time.Second)
	if !g.running() {
		t.Error("the gateway has ended")
	}
	audit(t, r, direct, l.account, receiver)
}

// network is a proxy whose faults can be switched on and off.
type network struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
}

func newNetwork(t *testing.T, upstream string) *network {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	n := &network{t, toxiproxy.NewProxy(server, "postgres", "127.0.0.1:0", upstream)}
	if err := n.proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.proxy.Stop)
	// Present from the start, because it resets only connections that were opened
	// while it was present.
	n.add("resets", "reset_peer", "downstream", 0, `{"timeout":0}`)
	return n
}

func (n *network) add(name, kind, stream string, share float64, attributes string) {
	n.t.Helper()
	toxic, err := json.Marshal(map[string]any{
		"name": name, "type": kind, "stream": stream, "toxicity": share, "attributes": json.RawMessage(attributes),
	})
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := n.proxy.Toxics.AddToxicJson(strings.NewReader(string(toxic))); err != nil {
		n.t.Fatal(err)
	}
}

// update sets the share of connections that a fault affects.
func (n *network) update(name string, share float64) {
	n.t.Helper()
	toxic, err := json.Marshal(map[string]any{"toxicity": share})
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := n.proxy.Toxics.UpdateToxicJson(name, strings.NewReader(string(toxic))); err != nil {
		n.t.Fatal(err)
	}
}

func (n *network) remove(names ...string) {
	n.t.Helper()
	for _, name := range names {
		if err := n.proxy.Toxics.RemoveToxic(n.t.Context(), name); err != nil {
			n.t.Fatal(err)
		}
	}
}
