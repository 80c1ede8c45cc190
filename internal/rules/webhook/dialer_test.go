package webhook

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// special lists addresses a merchant's receiver cannot have: one or more of
// each block of the IANA special-purpose registries (RFC 6890), the metadata
// services of clouds, and IPv6 forms that carry an IPv4 address.
var special = []string{
	"0.0.0.0", "0.1.2.3", // this network
	"10.0.0.1", "10.255.255.254", // private
	"100.64.0.1", "100.100.100.200", "100.127.255.254", // carrier-grade NAT; Alibaba metadata
	"127.0.0.1", "127.0.0.53", "127.255.255.254", // loopback
	"168.63.129.16",                                   // Azure's host
	"169.254.0.1", "169.254.169.254", "169.254.170.2", // link-local; metadata
	"172.16.0.1", "172.31.255.254", // private
	"192.0.0.1", "192.0.0.192", // protocol assignments; Oracle metadata
	"192.0.2.1",                      // documentation
	"192.88.99.1",                    // 6to4 relay
	"192.168.0.1", "192.168.255.254", // private
	"198.18.0.1", "198.19.255.254", // benchmarking
	"198.51.100.1", "203.0.113.1", // documentation
	"224.0.0.1", "239.255.255.250", // multicast
	"240.0.0.1", "255.255.255.255", // reserved, broadcast
	"::", "::1", // unspecified, loopback
	"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", // mapped
	"::127.0.0.1",                                                                                      // compatible
	"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::a00:1", "64:ff9b::6440:1", "64:ff9b::a83f:8110", // NAT64
	"64:ff9b:1::1", "64:ff9b:1::808:808", // local NAT64
	"100::1",                            // discard
	"2001::1",                           // Teredo
	"2001:db8::1",                       // documentation
	"2002:7f00:1::1", "2002:808:808::1", // 6to4
	"fc00::1", "fd00:ec2::254", // unique local; AWS metadata
	"fe80::1", // link-local
	"fec0::1", // site-local
	"ff02::1", // multicast
}

// TestRefuses: an address is refused before any attempt, as it is at each; another machine's name may lead anywhere.
func TestRefuses(t *testing.T) {
	c := NewClient([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd12::/16")}, nil)
	for _, address := range special {
		if at := "https://" + net.JoinHostPort(address, "8443"); !c.Refuses(at) {
			t.Errorf("%s is not refused", at)
		}
	}
	for _, at := range []string{"https://localhost:1/hook", "https://shop.LOCALHOST"} {
		if !c.Refuses(at) || NewClient([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil).Refuses(at) {
			t.Errorf("%s is not refused, or also where it is allowed", at)
		}
	}
	for _, at := range []string{"localhost.example", "", "10.1.2.3:443", "[fd12::1]:443", "8.8.8.8:8443", "[2606:4700::1]:80",
		"shop.example:443"} {
		if c.Refuses("https://" + at) {
			t.Errorf("%q is refused", at)
		}
	}
}

// TestUnknown: a host is unknown only if a name server answers so.
func TestUnknown(t *testing.T) {
	c, reached := guarded(resolver(t, func(name string, v6 bool) []netip.Addr {
		if name == "shop.example." && !v6 {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}
		}
		return nil
	}))
	for at, unknown := range map[string]bool{"https://shop.example/hook": false, "https://shpo.example:8443/hook": true,
		"https://192.0.2.1": false, "https://localhost": false, "": false} {
		if got := c.Unknown(t.Context(), at); got != unknown {
			t.Errorf("%q is unknown: %t", at, got)
		}
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if c.Unknown(late, "https://shpo.example") || reached.Load() > 0 {
		t.Errorf("unknown without an answer, or after %d connections", reached.Load())
	}
}

// guarded is a client whose connections are counted once the guard has let
// them through.
func guarded(r *net.Resolver, allow ...netip.Prefix) (*Client, *atomic.Int32) {
	reached := new(atomic.Int32)
	dialer := newDialer(allow, nil)
	guard := dialer.Control
	dialer.Resolver = r
	dialer.Control = func(network, address string, c syscall.RawConn) error {
		err := guard(network, address, c)
		if err == nil {
			reached.Add(1)
		}
		return err
	}
	return newClient(dialer, AttemptTimeout), reached
}

// resolver is a DNS server that answers every name with the given addresses
// of the family asked for; none is NXDOMAIN.
func resolver(t testing.TB, answer func(name string, v6 bool) []netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var query dnsmessage.Message
			if query.Unpack(buf[:n]) != nil || len(query.Questions) != 1 {
				continue
			}
			if reply, err := reply(query, answer); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func reply(query dnsmessage.Message, answer func(string, bool) []netip.Addr) ([]byte, error) {
	question := query.Questions[0]
	v6 := question.Type == dnsmessage.TypeAAAA
	message := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: query.ID, Response: true, RecursionAvailable: true},
		Questions: query.Questions,
	}
	addresses := answer(question.Name.String(), v6)
	if len(addresses) == 0 && len(answer(question.Name.String(), !v6)) == 0 {
		message.RCode = dnsmessage.RCodeNameError
	}
	for _, address := range addresses {
		resource := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET}}
		if v6 {
			resource.Body = &dnsmessage.AAAAResource{AAAA: address.As16()}
		} else {
			resource.Body = &dnsmessage.AResource{A: address.As4()}
		}
		message.Answers = append(message.Answers, resource)
	}
	return message.Pack()
}

// only answers with one address, of the requested family.
func only(address netip.Addr) func(string, bool) []netip.Addr {
	return func(_ string, v6 bool) []netip.Addr {
		if v6 == address.Is6() {
			return []netip.Addr{address}
		}
		return nil
	}
}

func TestSpecialAddressesAreNeverReached(t *testing.T) {
	t.Logf("%d addresses", len(special))
	for _, text := range special {
		address := netip.MustParseAddr(text)
		literal := "http://" + netip.AddrPortFrom(address, 80).String() + "/"

		t.Run(text+" literal", func(t *testing.T) {
			client, reached := guarded(nil)
			wantBlocked(t, post(t, client, literal), reached, 0)
		})
		t.Run(text+" name", func(t *testing.T) {
			client, reached := guarded(resolver(t, only(address)))
			wantBlocked(t, post(t, client, "https://shop.test/hook"), reached, 0)
		})
		t.Run(text+" redirect", func(t *testing.T) {
			receiver, allow := receiverAt(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", literal)
				w.WriteHeader(http.StatusPermanentRedirect)
			})
			client, reached := guarded(nil, allow)
			if answer := post(t, client, receiver.URL); answer.Class != ClassRedirect || reached.Load() != 1 {
				t.Fatalf("class %s, %d connections", answer.Class, reached.Load())
			}
		})
		t.Run(text+" rebinding", func(t *testing.T) {
			receiver, allow := receiverAt(t, func(http.ResponseWriter, *http.Request) {})
			host, err := url.Parse(receiver.URL)
			if err != nil {
				t.Fatal(err)
			}
			var rebound atomic.Bool
			client, reached := guarded(resolver(t, func(name string, v6 bool) []netip.Addr {
				if rebound.Load() {
					return only(address)(name, v6)
				}
				return only(netip.MustParseAddr(host.Hostname()))(name, v6)
			}), allow)
			target := "http://shop.test:" + host.Port() + "/"
			if answer := post(t, client, target); answer.Class != ClassDelivered {
				t.Fatalf("before: class %s", answer.Class)
			}
			rebound.Store(true)
			wantBlocked(t, post(t, client, target), reached, 1)
		})
	}
}

func wantBlocked(t *testing.T, answer Answer, reached *atomic.Int32, connections int32) {
	t.Helper()
	if answer.Class != ClassBlocked || reached.Load() != connections {
		t.Fatalf("class %s, %d connections, want %d", answer.Class, reached.Load(), connections)
	}
}

// receiverAt listens on a loopback address that is not in the special list and
// returns the network to allow for it.
func receiverAt(t *testing.T, handler http.HandlerFunc) (*httptest.Server, netip.Prefix) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.77:0")
	if err != nil {
		t.Fatal(err)
	}
	receiver := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	receiver.Start()
	t.Cleanup(receiver.Close)
	return receiver, netip.MustParsePrefix("127.0.0.77/32")
}

// Some libraries of other languages read these texts as 127.0.0.1. Here they
// are host names, and the address to which a resolver resolves them is checked
// like any other.
func TestOddSpellingsAreNeverReached(t *testing.T) {
	client, reached := guarded(resolver(t, only(netip.MustParseAddr("127.0.0.1"))))
	for _, host := range []string{
		"2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.1", "127.0.0.1.", "localhost", "localhost.",
		"[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[fe80::1%25lo]", "shop.test@127.0.0.1", "①②⑦.⓪.⓪.①",
	} {
		if answer := post(t, client, "http://"+host+"/"); answer.StatusCode != 0 || reached.Load() != 0 {
			t.Errorf("%s: class %s, %d connections", host, answer.Class, reached.Load())
		}
	}
}

func TestPublicAddressesPass(t *testing.T) {
	for _, address := range []string{"8.8.8.8", "1.1.1.1", "168.63.129.17", "172.32.0.1", "2606:4700::1111",
		"2a00:1450::1", "64:ff9b::808:808"} {
		dialer := newDialer(nil, nil)
		network := "tcp4"
		if netip.MustParseAddr(address).Is6() {
			network = "tcp6"
		}
		if err := dialer.Control(network, net.JoinHostPort(address, "8443"), nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAllowedNetworks(t *testing.T) {
	dialer := newDialer([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32")}, nil)
	for address, want := range map[string]bool{
		"10.1.2.3": true, "10.2.0.1": false, "127.0.0.1": false, "fd00:1::5": true, "fd00:2::5": false, "::1": false,
	} {
		network := "tcp4"
		if netip.MustParseAddr(address).Is6() {
			network = "tcp6"
		}
		if err := dialer.Control(network, net.JoinHostPort(address, "443"), nil); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %t", address, err, want)
		}
	}
}

// TestNAT64: the address inside decides, also in the network's own prefixes and where
// the prefix is allowed; the examples are those of RFC 6052, 2.4, with other
// addresses.
func TestNAT64(t *testing.T) {
	var own, allow []netip.Prefix
	for _, text := range []string{"2001:db8::/32", "2001:db8:100::/40", "2001:db8:122::/48", "2001:db8:122:300::/56",
		"2001:db8:122:344::/64", "2a00:64::/96"} {
		prefix := netip.MustParsePrefix(text)
		if err := CheckNAT64(prefix); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		own = append([]netip.Prefix{prefix}, own...) // the longest first: the examples lie in each other
	}
	for _, text := range []string{
		"64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "2a00:64::/96", "10.1.0.0/16",
	} {
		allow = append(allow, netip.MustParsePrefix(text))
	}
	dialer := newDialer(allow, own)
	for address, want := range map[string]bool{
		"64:ff9b::808:808": true, "64:ff9b::a9fe:a9fe": false, "64:ff9b::a01:203": true, "64:ff9b::a02:203": false,
		"2a00:64::808:808": true, "2a00:64::a9fe:a9fe": false, "2a00:64::7f00:1": false, "2a00:65::1": true,
		"2001:db8:808:808::": true, "2001:db8:a9fe:a9fe::": false,
		"2001:db8:108:808:8::": true, "2001:db8:1a9:fea9:fe::": false,
		"2001:db8:122:808:8:800::": true, "2001:db8:122:a9fe:a9:fe00::": false,
		"2001:db8:122:308:8:808::": true, "2001:db8:122:3a9:fe:a9fe::": false,
		"2001:db8:122:344:8:808:800::": true, "2001:db8:122:344:a9:fea9:fe00::": false,
		"64:ff9b:1::808:808": false, "64:ff9b:1:a9fe:a9:fe00::": false, "2002:808:808::1": false,
		"2001::f7f7:f7f7": false,
	} {
		if err := dialer.Control("tcp6", net.JoinHostPort(address, "443"), nil); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %t", address, err, want)
		}
	}
	for _, text := range []string{"2001:db8::/33", "2001:db8::/128", "10.0.0.0/32", "::ffff:0:0/96"} {
		if CheckNAT64(netip.MustParsePrefix(text)) == nil {
			t.Errorf("%s can be a prefix of NAT64", text)
		}
	}
}
