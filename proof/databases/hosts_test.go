package databases

import (
	"strings"
	"testing"

	"agegate/internal/store"
	"agegate/internal/store/pgtest"
)

// TestOpenUsesThePrimary covers URLs of operators that name a primary or replicas
// over TCP.
func TestOpenUsesThePrimary(t *testing.T) {
	server := pgtest.NewServer(t, pgtest.FreeAddr(t))
	primary, replica, second := server.Addr, server.NewReplica(t, pgtest.FreeAddr(t)).Addr,
		server.NewReplica(t, pgtest.FreeAddr(t)).Addr
	const refused = "read-only replica"
	for _, tt := range []struct{ name, hosts, query, want string }{
		{"a replica", replica, "", refused},
		{"a replica, without TLS", replica, "?sslmode=disable", refused},
		{"two replicas", replica + "," + second, "", refused},
		{"a replica that has to take writes", replica, "?target_session_attrs=read-write", refused},
		{"a replica that was asked for", primary + "," + replica, "?target_session_attrs=standby", refused},
		{"a replica and nobody", replica + "," + pgtest.FreeAddr(t), "", refused},
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
