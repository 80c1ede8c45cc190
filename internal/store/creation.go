package store

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// errNotAll rolls back a transaction that cannot write all its sessions.
var errNotAll = errors.New("store: a unit or an idempotency key is not free")

// CreateSessions implements session.Store.
func (s *Store) CreateSessions(
	ctx context.Context, terms tenant.Terms, sessions []session.Session, claims []session.IdempotencyClaim,
	p billing.Purchase,
) (bool, error) {
	b := batch{terms: terms, sessions: sessions, purchase: p}
	if s.postgres != nil {
		var err error
		if b.rows, err = s.encode(b); err != nil {
			return false, err
		}
	}
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
	// For PostgreSQL. Each call encodes its own, because those that share a statement
	// wait for the one that sends it.
	rows  []encoded // what is inserted
	asked []byte    // what is taken, for a shared statement
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
			if err != nil {
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
	if tx.postgres {
		statement, args := tx.taking(b.purchase, &b.terms)
		return tx.insertIf(statement+" RETURNING 1", args, b.rows)
	}
	if taken, err := tx.takeUnits(b); err != nil || !taken {
		return false, err
	}
	return true, tx.insertCreation(b)
}

// insertIf runs a statement and, if it returns a row, inserts rows, all in one
// statement of PostgreSQL. It reports whether a row was returned.
func (tx *Tx) insertIf(condition string, args []any, rows []encoded) (bool, error) {
	text, values := "WITH condition AS ("+condition+")", args
	for _, set := range rows {
		if len(set.objects) > 0 {
			text += set.insertion("EXISTS (SELECT FROM condition)")
			values = append(values, array(set.objects))
		}
	}
	var n int64
	// GORM is not used, because it would write out the statement with all its values.
	err := tx.db.Statement.ConnPool.QueryRowContext(tx.db.Statement.Context,
		numbered(text+" SELECT count(*) FROM condition"), values...).Scan(&n)
	return n > 0, translate(err)
}
