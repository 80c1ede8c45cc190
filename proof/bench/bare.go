// Package bench measures the whole gateway against bare handlers that run the
// same SQL and nothing else, in the same run, and prints the ratios.
package bench

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"agegate/internal/rules/credential"

	"github.com/google/uuid"
)

// bare is the baseline: net/http, the database driver and the gateway's SQL
// statements, without contract, checks and ORM.
type bare struct {
	read, write *sql.DB
	postgres    bool
	remembers   bool     // keys, for a second
	keys        sync.Map // from hash to rememberedKey
}

const (
	keySQL = `SELECT k.id, k.tenant_id, k.livemode, k.hash, k.last_four, k.created_at, k.last_used_at, k.revoked_at,
		t.id, t.name, t.success_url, t.cancel_url, t.webhook_url, t.document_check, t.age_visibility, t.free_checks, t.disabled, t.created_at
		FROM api_keys k JOIN tenants t ON t.id = k.tenant_id WHERE k.hash = $1 LIMIT 1`
	tenantSQL = `SELECT id, name, success_url, cancel_url, webhook_url, document_check, age_visibility, free_checks, disabled, created_at
		FROM tenants WHERE id = $1 LIMIT 1`
	sessionSQL = `SELECT status, created_at, expires_at, completed_at FROM sessions WHERE id = $1 AND tenant_id = $2 LIMIT 1`
	insertSQL  = `INSERT INTO sessions (id, tenant_id, livemode, target_age, success_url, cancel_url, webhook_url, link_hash,
		status, created_at, expires_at, attempts, strikes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'PENDING', $9, $10, 0, 0)`
	holdSQL  = `INSERT INTO holds (session_id, tenant_id, source, period, status, expires_at) VALUES ($1, $2, 'free', $3, 'open', $4)`
	entrySQL = `INSERT INTO ledger_entries (id, tenant_id, session_id, kind, source, period, delta, created_at)
		VALUES ($1, $2, $3, 'hold', 'free', $4, -1, $5)`
	counterSQL = `INSERT INTO usage_counters (tenant_id, counter, period, used) VALUES ($1, $2, $3, 1)
		ON CONFLICT (tenant_id, counter, period) DO UPDATE SET used = usage_counters.used + 1 WHERE usage_counters.used < $4`
)

// caller is the tenant and mode that a key belongs to.
type caller struct {
	tenant   string
	livemode bool
	until    time.Time // when the key is looked up again
}

func (b *bare) caller(r *http.Request) (c caller, err error) {
	hash := credential.HashAPIKey(r.Header.Get("X-API-Key"))
	if known, ok := b.keys.Load(hash); ok {
		if c, ok := known.(caller); ok && time.Now().Before(c.until) {
			return c, nil
		}
	}
	targets := make([]any, 18)
	for i := range targets {
		targets[i] = new(any)
	}
	targets[1], targets[2] = &c.tenant, &c.livemode
	err = b.read.QueryRowContext(r.Context(), keySQL, hash[:]).Scan(targets...)
	if b.remembers {
		c.until = time.Now().Add(time.Second)
		b.keys.Store(hash, c)
	}
	return c, err
}

func (b *bare) status(w http.ResponseWriter, r *http.Request) {
	caller, err := b.caller(r)
	if err != nil {
		http.Error(w, "key", http.StatusUnauthorized)
		return
	}
	id := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/sessions/"), "/status")
	var status string
	var created, expires, completed any
	err = b.read.QueryRowContext(r.Context(), sessionSQL, id, caller.tenant).Scan(&status, &created, &expires, &completed)
	if err != nil {
		http.Error(w, "session", http.StatusNotFound)
		return
	}
	answer(w, http.StatusOK, map[string]any{"status": status, "status_at": created})
}

func (b *bare) create(w http.ResponseWriter, r *http.Request) {
	caller, err := b.caller(r)
	if err != nil {
		http.Error(w, "key", http.StatusUnauthorized)
		return
	}
	var success, cancel, webhook string
	var skip [7]any
	err = b.read.QueryRowContext(r.Context(), tenantSQL, caller.tenant).Scan(
		&skip[0], &skip[1], &success, &cancel, &webhook, &skip[2], &skip[3], &skip[4], &skip[5], &skip[6])
	if err != nil {
		http.Error(w, "tenant", http.StatusInternalServerError)
		return
	}
	var body struct {
		TargetAge int `json:"target_age"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, "body", http.StatusUnprocessableEntity)
		return
	}
	id, now := uuid.Must(uuid.NewV7()), time.Now().UTC()
	link := uuid.NewString() + id.String()
	if err := b.insert(r, id, caller, body.TargetAge, success, cancel, webhook, link, now); err != nil {
		http.Error(w, "database", http.StatusInternalServerError)
		return
	}
	answer(w, http.StatusCreated, map[string]any{
		"session_id": id, "verification_url": "https://verify.example/v/" + link, "expires_at": now.Add(time.Hour),
	})
}

func (b *bare) insert(
	r *http.Request, id uuid.UUID, by caller, age int, success, cancel, webhook, link string, now time.Time,
) error {
	ctx, tenantID, expires := r.Context(), by.tenant, b.time(now.Add(time.Hour))
	tx, err := b.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // has no effect after Commit
	_, err = tx.ExecContext(ctx, insertSQL, id.String(), tenantID, by.livemode, age, success, cancel, webhook,
		credential.HashToken(link), b.time(now), expires)
	if err != nil {
		return err
	}
	counter, period := "test", now.Format(time.DateOnly)
	if by.livemode {
		counter, period = "free", now.Format("2006-01")
		if _, err := tx.ExecContext(ctx, holdSQL, id.String(), tenantID, period, expires); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, entrySQL, uuid.Must(uuid.NewV7()).String(), tenantID, id.String(), period, b.time(now))
		if err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, counterSQL, tenantID, counter, period, 1<<40); err != nil {
		return err
	}
	return tx.Commit()
}

// time formats a time as the gateway does for this database.
func (b *bare) time(t time.Time) any {
	if b.postgres {
		return t
	}
	return t.Format("2006-01-02 15:04:05.000000-07:00")
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
