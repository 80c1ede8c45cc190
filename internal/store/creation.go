package store

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// errNotAll rolls back a transaction that cannot write all its sessions.
var errNotAll = errors.New("store: a unit or an idempotency key is not free")

// CreateSessions implements session.Store.
func (s *Store) CreateSessions(ctx context.Context, terms tenant.Terms, sessions []session.Session, claims []session.IdempotencyClaim, p billing.Purchase) (bool, error) {
	b := batch{terms, sessions, p}
	switch {
	case len(claims) > 0:
	case s.postgres != nil:
		return s.createWithOthers(ctx, b)
	default:
		created, err := s.batches.Do(ctx, false, b)
		return created[sessions[0].ID], err
	}
	err := s.Update(ctx, func(tx *Tx) error {
		for i, c := range claims {
			_, claimed, err := tx.ClaimIdempotencyKey(c, sessions[i].CreatedAt)
			if err != nil {
				return err
			}
			if !claimed {
				return errNotAll
			}
		}
		created, err := tx.createSessions(b)
		if err == nil && !created {
			return errNotAll
		}
		return err
	})
	if errors.Is(err, errNotAll) {
		return false, nil
	}
	return err == nil, err
}

// createAtOnce performs CreateSessions in one statement without a transaction.
// That saves two round trips to the server, during which the balance would be
// locked.
func (s *Store) createAtOnce(ctx context.Context, b batch) (created bool, err error) {
	err = s.retry(ctx, func(ctx context.Context) (bool, error) {
		created, err = s.tx(s.writer.WithContext(ctx)).createSessions(b)
		return rolledBack(err), err
	})
	return created, err
}

// batch is new sessions of one tenant, the terms on which they were made, and what
// they cost.
type batch struct {
	terms    tenant.Terms
	sessions []session.Session
	purchase billing.Purchase
}

// maxBatches is the maximum number of batches in one transaction.
const maxBatches = 64

// createBatches writes batches in one transaction: SQLite runs one at a time, and
// most of its time is its commit. It returns the IDs of the first sessions of the
// batches that are written; each is written completely or not at all.
func (s *Store) createBatches(ctx context.Context, _ bool, batches []batch) (created map[uuid.UUID]bool, err error) {
	err = s.Update(ctx, func(tx *Tx) error {
		created = map[uuid.UUID]bool{}
		for _, b := range batches {
			ok, err := tx.createSessions(b)
			// A tenant that moves must not hold up others; a call on its own finds the
			// reason.
			if err != nil && !errors.Is(err, tenant.ErrMoving) {
				return err
			}
			created[b.sessions[0].ID] = ok
		}
		return nil
	})
	return created, err
}

// createSessions takes a batch's units and writes its sessions, holds and entries of
// the ledger. It reports false if it cannot, or if the tenant's terms are others.
func (tx *Tx) createSessions(b batch) (bool, error) {
	p := b.purchase
	rows, holds, entries := mapAll(b.sessions, fromSession), mapAll(p.Holds, fromHold), mapAll(p.Entries, fromEntry)
	if !tx.postgres {
		if taken, err := tx.takeUnits(b); err != nil || !taken {
			return false, err
		}
		return true, tx.insertCreation(rows, holds, entries)
	}
	statement, args := tx.taking(p, &b.terms)
	return tx.insertIf(statement+" RETURNING 1", args, rows, holds, entries)
}

// initialColumns are the columns of a session to which nothing has happened yet.
// The others have their defaults. Naming all 31 costs more than writing them.
var initialColumns = []string{
	"id", "tenant_id", "livemode", "target_age", "success_url", "cancel_url", "webhook_url", "link_hash", "status",
	"created_at", "expires_at", "attempts", "strikes", "api_key_id",
}

// untouched reports that sessions have values in no other column than
// initialColumns.
func untouched(rows []sessionRow) bool {
	return !slices.ContainsFunc(rows, func(r sessionRow) bool {
		return !reflect.DeepEqual(r, sessionRow{
			ID: r.ID, TenantID: r.TenantID, Livemode: r.Livemode, TargetAge: r.TargetAge,
			SuccessURL: r.SuccessURL, CancelURL: r.CancelURL, WebhookURL: r.WebhookURL, LinkHash: r.LinkHash, Status: r.Status,
			CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, Attempts: r.Attempts, Strikes: r.Strikes, APIKeyID: r.APIKeyID,
		})
	})
}

// insertIf runs a statement and, if it returns a row, inserts rows, all in one
// statement of PostgreSQL. It reports whether a row was returned.
func (tx *Tx) insertIf(condition string, args []any, slices ...any) (bool, error) {
	into, values, err := tx.insertions("EXISTS (SELECT FROM condition)", slices)
	if err != nil {
		return false, err
	}
	var n int64
	// GORM's Scan is not used, because it would write out the statement with all
	// its values.
	err = tx.db.Raw("WITH condition AS ("+condition+")"+into+" SELECT count(*) FROM condition", append(args, values...)...).Row().Scan(&n)
	return n > 0, translate(err)
}

// insertions returns queries of a WITH clause of PostgreSQL that insert those rows
// of slices that meet a condition, and their arguments. The text does not depend on
// how many rows are inserted, so it is prepared once.
func (tx *Tx) insertions(condition string, slices []any) (queries string, args []any, err error) {
	var text strings.Builder
	for _, rows := range slices {
		records, err := tx.recordset(rows)
		if err != nil {
			return "", nil, err
		}
		if records.json == "" {
			continue
		}
		text.WriteString(`, into_` + records.table + ` AS (
			INSERT INTO ` + records.table + ` (` + records.columns + `)
			SELECT ` + records.columns + ` FROM json_populate_recordset(CAST(NULL AS ` + records.table + `), CAST(? AS json))
			WHERE ` + condition + `)`)
		args = append(args, records.json)
	}
	return text.String(), args, nil
}

// recordset holds rows of a table in the form that json_populate_recordset
// reads.
type recordset struct {
	table, columns string
	json           string // an array of objects; empty without rows
}

// populated returns a value in the form that json_populate_recordset reads.
func populated(value any) any {
	switch v := value.(type) {
	case time.Time:
		return at(v)
	case []byte:
		if v != nil {
			return `\x` + hex.EncodeToString(v)
		}
	}
	return value
}

// recordset returns the rows of a slice.
func (tx *Tx) recordset(rows any) (recordset, error) {
	stmt := &gorm.Statement{DB: tx.db}
	if err := stmt.Parse(rows); err != nil {
		return recordset{}, err
	}
	columns := stmt.Schema.DBNames
	if sessions, ok := rows.([]sessionRow); ok && untouched(sessions) {
		columns = initialColumns
	}
	set := recordset{table: stmt.Schema.Table, columns: strings.Join(columns, ", ")}
	slice := reflect.ValueOf(rows)
	objects := make([]map[string]any, slice.Len())
	for i := range objects {
		objects[i] = make(map[string]any, len(columns))
		for _, name := range columns {
			value, _ := stmt.Schema.FieldsByDBName[name].ValueOf(tx.db.Statement.Context, slice.Index(i))
			value, err := driver.DefaultParameterConverter.ConvertValue(value)
			if err != nil {
				return recordset{}, err
			}
			objects[i][name] = populated(value)
		}
	}
	if len(objects) == 0 {
		return set, nil
	}
	text, err := json.Marshal(objects)
	set.json = string(text)
	return set, err
}
