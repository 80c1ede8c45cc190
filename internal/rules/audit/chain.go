package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Hash is a SHA-256 hash. Its text is 64 hex digits.
type Hash [sha256.Size]byte

// String returns the hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns the hex digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the hex digits.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return errors.New("a hash has 64 hex digits")
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// Head is the end of a chain.
type Head struct {
	Seq  int64
	Hash Hash
}

// Next returns the entry that an act appends to the chain. It returns an error for an act without
// actor, action or scope, and for text that a database cannot store.
func (h Head) Next(act Act) (Entry, error) {
	detail, err := json.Marshal(act.Detail)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{
		Scope: act.Scope, Seq: h.Seq + 1, At: act.At.UTC().Truncate(time.Microsecond),
		Actor: act.Actor, Action: act.Action, Target: act.Target, Detail: detail, PrevHash: h.Hash,
	}
	kinds := []Kind{KindUser, KindOperator, KindCLI, KindSystem}
	switch {
	case e.Scope == "" || e.Action == "" || act.At.IsZero():
		return Entry{}, errors.New("audit: an act needs a scope, an action and a time")
	case !slices.Contains(kinds, e.Actor.Kind):
		return Entry{}, errors.New("audit: an act needs an actor")
	}
	for _, text := range e.fields() {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return Entry{}, errors.New("audit: an act has text that cannot be stored")
		}
	}
	e.Hash = e.sum()
	return e, nil
}

// timeFormat is the time in the hashed bytes: UTC in microseconds.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// fields returns the parts of an entry that are hashed after the previous hash, in order.
func (e Entry) fields() []string {
	return []string{
		"agegate.audit.v1", string(e.Scope), strconv.FormatInt(e.Seq, 10), e.At.UTC().Format(timeFormat),
		string(e.Actor.Kind), e.Actor.ID, e.Actor.Name, string(e.Action), e.Target, string(e.Detail),
	}
}

// sum returns the hash of an entry: SHA-256 over the hash of the entry before
// (32 zero bytes for the first), followed by each of fields as its length in
// bytes (64 bits, big endian) and its bytes (UTF-8).
func (e Entry) sum() (sum Hash) {
	h := sha256.New()
	h.Write(e.PrevHash[:])
	for _, text := range e.fields() {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		h.Write(length[:])
		_, _ = io.WriteString(h, text) // writing to a hash never fails
	}
	h.Sum(sum[:0])
	return sum
}

// BrokenError says where a chain is broken: the entries from Seq on are not the
// original ones.
type BrokenError struct {
	Scope  Scope
	Seq    int64
	Reason string
}

// Error names the scope, the place and the reason.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("audit log %s: entry %d: %s", e.Scope, e.Seq, e.Reason)
}

// Extend checks that e continues the chain and returns the new end. It returns a
// *BrokenError.
func (h Head) Extend(scope Scope, e Entry) (Head, error) {
	broken := &BrokenError{Scope: scope, Seq: h.Seq + 1}
	switch {
	case e.Scope != scope:
		broken.Reason = "it belongs to another log"
	case e.Seq != h.Seq+1:
		broken.Reason = "it is missing"
	case e.PrevHash != h.Hash:
		broken.Reason = "it does not follow the entry before it"
	case e.Hash != e.sum():
		broken.Reason = "it was changed"
	default:
		return Head{e.Seq, e.Hash}, nil
	}
	return h, broken
}

// chainBatch is how many entries Verify and Export read in one query.
const chainBatch = 500

// Verify checks the whole chain of a scope and returns its end. It returns a *BrokenError for a
// broken chain. Entries may be appended while it runs.
//
// Nothing inside the database can show that the newest entries were removed together with the
// stored end of the chain: for that, compare the end with an earlier one that was stored elsewhere.
func Verify(ctx context.Context, s Store, scope Scope) (Head, error) {
	return Walk(ctx, s, scope, func(Entry) error { return nil })
}

// Export verifies the chain of a scope as Verify does and writes one line of JSON for each entry,
// oldest first. The last line's hash is the end of the chain.
func Export(ctx context.Context, s Store, scope Scope, w io.Writer) (Head, error) {
	enc := json.NewEncoder(w)
	return Walk(ctx, s, scope, func(e Entry) error { return enc.Encode(e) })
}

// VerifyExport checks an export and returns its scope and the end of its chain.
// It returns a *BrokenError, or another error for text that is not an export.
func VerifyExport(r io.Reader) (scope Scope, end Head, err error) {
	dec := json.NewDecoder(r)
	for line := 1; ; line++ {
		var e Entry
		switch err := dec.Decode(&e); {
		case errors.Is(err, io.EOF):
			return scope, end, nil
		case err != nil:
			return scope, end, fmt.Errorf("line %d is not an entry of an audit log", line)
		}
		if line == 1 {
			scope = e.Scope
		}
		if end, err = end.Extend(scope, e); err != nil {
			return scope, end, err
		}
	}
}

// Walk verifies the chain of a scope as Verify does and calls fn with each entry, oldest first. It
// stops at the first error of fn.
func Walk(ctx context.Context, s Store, scope Scope, fn func(Entry) error) (end Head, err error) {
	var stored Head
	for {
		batch, err := s.AuditChain(ctx, scope, end.Seq, chainBatch)
		switch {
		case err != nil:
			return end, err
		case len(batch) == 0 && end.Seq < stored.Seq:
			return end, &BrokenError{scope, end.Seq + 1, "it is missing"}
		}
		for _, e := range batch {
			if end, err = end.Extend(scope, e); err != nil {
				return end, err
			}
			if err := fn(e); err != nil {
				return end, err
			}
		}
		if len(batch) == chainBatch {
			continue
		}
		// The head is read after the entries, so it is at least as new as they are.
		stored, err = s.AuditHead(ctx, scope)
		switch {
		case err != nil:
			return end, err
		case stored == end:
			return end, nil
		case stored.Seq <= end.Seq:
			return end, &BrokenError{scope, end.Seq, "it does not fit the stored end of the log"}
		}
	}
}
