package document

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"agegate/internal/check/document/wallet"

	"golang.org/x/sync/singleflight"
)

// Limits of the lists kept in memory.
const (
	maxStatusLists = 16 // of at most 4 MiB each
	statusKept     = 12 * time.Hour
	statusRetry    = 30 * time.Second // after a failure
	maxStatusURI   = 2048
)

// StatusLists answers whether documents were revoked, by the status lists of their
// issuers. Each list is fetched once and kept until it expires. If a list cannot be
// fetched, or its signature is not valid, the answer is an error, and the document is
// not accepted.
type StatusLists struct {
	fetch func(ctx context.Context, url string) ([]byte, error)
	now   func() time.Time
	calls singleflight.Group

	mu   sync.Mutex
	kept map[string]keptList // by kind of document and address
}

type keptList struct {
	list  *wallet.StatusList // nil after a failure
	until time.Time
}

// NewStatusLists returns an empty cache. fetch gets at most
// wallet.MaxStatusListBytes from an https address; it must refuse addresses that
// are not public.
func NewStatusLists(fetch func(ctx context.Context, url string) ([]byte, error), now func() time.Time) *StatusLists {
	return &StatusLists{fetch: fetch, now: now, kept: map[string]keptList{}}
}

var errStatusList = errors.New("the status list cannot be had")

// revoked reports whether the list of an entry marks a document as revoked.
func (s *StatusLists) revoked(
	ctx context.Context, entry wallet.StatusEntry, docType string, issuers []wallet.Issuer,
) (bool, error) {
	u, err := url.Parse(entry.URI)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(entry.URI) > maxStatusURI {
		return false, errStatusList
	}
	key := docType + " " + entry.URI
	list, known := s.cached(key)
	if !known {
		// Other callers share this fetch, so it must not end with one of them.
		found, _, _ := s.calls.Do(key, func() (any, error) {
			return s.load(context.WithoutCancel(ctx), key, entry.URI, docType, issuers), nil
		})
		list, _ = found.(*wallet.StatusList)
	}
	if list == nil {
		return false, errStatusList
	}
	return list.Revoked(entry)
}

func (s *StatusLists) cached(key string) (*wallet.StatusList, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.kept[key]
	return kept.list, ok && s.now().Before(kept.until)
}

// load fetches a list and stores it, or stores the failure.
func (s *StatusLists) load(ctx context.Context, key, uri, docType string, issuers []wallet.Issuer) *wallet.StatusList {
	now := s.now()
	kept := keptList{until: now.Add(statusRetry)}
	if token, err := s.fetch(ctx, uri); err == nil {
		if list, err := wallet.ParseStatusList(token, uri, docType, issuers, now); err == nil {
			kept = keptList{list, list.Until(now, statusKept)}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.kept {
		if len(s.kept) < maxStatusLists {
			break
		}
		delete(s.kept, other) // any entry: lists in use soon return
	}
	s.kept[key] = kept
	return kept.list
}
