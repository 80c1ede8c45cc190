package billing

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/routine"

	"github.com/google/uuid"
)

// OldEntries calls do with a tenant's entries of sessions that were created before a time, oldest
// first, until it returns an error.
func OldEntries(ctx context.Context, store Store, tenantID uuid.UUID, before time.Time, do func(Entry) error) error {
	for last, more := (Entry{}), true; more; {
		page, err := store.EntriesBetween(ctx, tenantID, time.Unix(0, 0), before, last, MaxPage)
		more = len(page) == MaxPage
		for _, last = range page {
			if err == nil && last.SessionID != nil {
				err = do(last)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SumUp replaces the entries of which a file has the JSON by one without a session for each tenant, month, kind and
// balance, and returns how many it has replaced. It works in small transactions and rests after each for as long as
// it took. After an error, another run continues with the rest. The act is written with the first entries.
func SumUp(ctx context.Context, store Store, file io.Reader, act audit.Act) (total int, err error) {
	in, first := json.NewDecoder(file), &act
	for more := true; more; {
		var ids []uuid.UUID
		for more && len(ids) < MaxPage {
			var e Entry
			if err := in.Decode(&e); err == nil {
				ids = append(ids, e.ID)
			} else if more = false; !errors.Is(err, io.EOF) {
				return total, err
			}
		}
		start := time.Now()
		n, err := store.ReplaceEntries(ctx, ids, sums, first)
		if err != nil {
			return total, err
		}
		if total += n; n > 0 {
			first = nil
		}
		_ = routine.Rest(ctx, start)
	}
	return total, nil
}

// sums adds entries up. A sum's ID begins with the time, and is the same for the same tenant, month, kind and balance.
func sums(entries []Entry) (sums []Entry) {
	for _, e := range entries {
		at := e.CreatedAt.UTC()
		e.CreatedAt, e.SessionID = time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC), nil
		e.ID = uuid.NewSHA1(e.TenantID, []byte(e.CreatedAt.String()+string(e.Kind)+string(e.Source)+e.Period))
		binary.BigEndian.PutUint64(e.ID[:], uint64(e.CreatedAt.UnixMilli())<<16|0x7000)
		if i := slices.IndexFunc(sums, func(s Entry) bool { return s.ID == e.ID }); i >= 0 {
			sums[i].Delta += e.Delta
		} else if e.Delta != 0 {
			sums = append(sums, e)
		}
	}
	return sums
}
