package session_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

// TestLinksOfBothForms: sessions of ordered links and of others lie in one database,
// as after an upgrade or a move between databases, and each is found by its link.
func TestLinksOfBothForms(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		s := newShops(t, db)
		owner := s.open(t, 0, 100, 0)
		sessions := map[string]uuid.UUID{} // by token
		for i := range 10 {
			token, hash, err := credential.NewLink(rand.Reader, acrossNow, i%2 == 0)
			if err != nil {
				t.Fatal(err)
			}
			sessions[token] = uuid.Must(uuid.NewV7())
			if err := db.UpdateSessions(t.Context(), func(tx session.Tx) error {
				return tx.InsertSessions(session.Session{
					ID: sessions[token], TenantID: owner, TargetAge: 18, LinkHash: hash, Status: session.StatusPending,
					CreatedAt: acrossNow, ExpiresAt: acrossNow.Add(time.Hour),
				})
			}); err != nil {
				t.Fatal(err)
			}
		}
		made, err := s.sessions.Create(t.Context(), tenant.Caller{TenantID: owner}, session.CreateRequest{TargetAge: 18})
		if err != nil {
			t.Fatal(err)
		}
		created := made.VerificationURL[strings.LastIndex(made.VerificationURL, "/")+1:]
		sessions[created] = made.SessionID
		for token, id := range sessions {
			if found, err := s.sessions.ByLink(t.Context(), token); err != nil || found.ID != id {
				t.Errorf("by its link: %s, %v, want %s", found.ID, err, id)
			}
			if _, err := s.sessions.ByLink(t.Context(), token[:len(token)-1]); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("by a shorter link: %v", err)
			}
		}
		stored, err := db.SessionByID(t.Context(), owner, made.SessionID)
		if plain := bytes.Equal(stored.LinkHash, credential.HashToken(created)); err != nil || plain == db.OrdersLinks() {
			t.Errorf("the new link's hash is plain: %t, %v", plain, err)
		}
	})
}
