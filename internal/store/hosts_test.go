package store_test

import (
	"net"
	"strings"
	"testing"

	"agegate/internal/store"
	"agegate/internal/store/pgtest"
)

// freeAddr returns an address for a server on this machine.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// TestOpenUsesThePrimary: URLs as operators write them, over TCP, that name a
// primary or replicas.
func TestOpenUsesThePrimary(t *testing.T) {
	server := pgtest.NewServer(t, freeAddr(t))
	primary, replica, second := server.Addr, server.NewReplica(t, freeAddr(t)).Addr, server.NewReplica(t, freeAddr(t)).Addr
	const refused = "read-only replica"
	for _, tt := range []struct{ name, hosts, query, want string }{
		{"a replica", replica, "", refused},
		{"a replica, without TLS", replica, "?sslmode=disable", refused},
		{"two replicas", replica + "," + second, "", refused},
		{"a replica that has to take writes", replica, "?target_session_attrs=read-write", refused},
		{"a replica that was asked for", primary + "," + replica, "?target_session_attrs=standby", refused},
		{"a replica and nobody", replica + "," + freeAddr(t), "", refused},
		{"the primary", primary, "", ""},
		{"replicas and the primary", replica + "," + second + "," + primary, "", ""},
		{"any of them", replica + "," + primary, "?target_session_attrs=any", ""},
		{"the one that takes writes", replica + "," + primary, "?target_session_attrs=read-write", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := "postgres://postgres@" + tt.hosts + "/postgres" + tt.query
			if tt.want == "" {
				if err := open(t, url).Migrate(t.Context()); err != nil {
					t.Error(err)
				}
				return
			}
			s, err := store.Open(t.Context(), store.Config{URL: url})
			if err == nil {
				_ = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "unavailable") {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
