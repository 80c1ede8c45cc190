package evidence

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/rules/audit"
)

// changing are the actions that change how shoppers' ages are checked.
var changing = []audit.Action{
	audit.TenantCreate, audit.TenantUpdate, audit.TenantEnable, audit.TenantDisable,
	audit.GatewayConfigure, audit.DriftRaise, audit.DriftLower, audit.DriftFreeze, audit.IssuerTrust, audit.IssuerDistrust,
	audit.TrustListAdd, audit.TrustListRemove,
}

// partly are the actions whose entries may be of other settings alone.
var partly = []audit.Action{audit.TenantUpdate, audit.GatewayConfigure}

// settings are the tenant's settings that affect these checks. Others, such as names and links, are left out.
var settings = []string{
	"document_check", "document_only", "document_ways", "wallet_pid", "margins", "age_visibility",
	"languages", "review_url",
}

// maxLinks is the maximum number of entries of the audit log's hash chain in a pack. A pack keeps the newest entries.
const maxLinks = 100_000

// log is what a pack says about the audit log.
type log struct {
	head    audit.Head
	links   []audit.Entry // the newest entries, without their details
	changes []audit.Entry // in the period, oldest first
}

// readLog verifies the tenant's audit log and the instance's, and returns what the pack needs from them.
func (s *Service) readLog(ctx context.Context, r Request) (log, error) {
	var l log
	keep := func(e audit.Entry) {
		if slices.Contains(changing, e.Action) && !e.At.Before(r.From) && e.At.Before(r.To) {
			l.changes = append(l.changes, e)
		}
	}
	head, err := audit.Walk(ctx, s.store, audit.OfTenant(r.TenantID), func(e audit.Entry) error {
		keep(e)
		if len(l.links) == 2*maxLinks {
			l.links = slices.Delete(l.links, 0, maxLinks)
		}
		l.links = append(l.links, audit.Entry{Seq: e.Seq, At: e.At, PrevHash: e.PrevHash, Hash: e.Hash})
		return nil
	})
	if err != nil {
		return log{}, err
	}
	l.head, l.links = head, l.links[max(0, len(l.links)-maxLinks):]
	_, err = audit.Walk(ctx, s.store, audit.Instance, func(e audit.Entry) error {
		if e.Action != audit.TenantCreate { // concerns another tenant
			keep(e)
		}
		return nil
	})
	slices.SortStableFunc(l.changes, func(a, b audit.Entry) int { return a.At.Compare(b.At) })
	return l, err
}

// files returns changes.csv and chain.csv. They contain no names of staff, only the kind of each actor. An entry can
// be found in the log by its number and hash.
func (l log) files() []file {
	changes := Table{{"time", "log", "entry", "hash", "by", "action", "setting", "old", "new"}}
	for _, e := range l.changes {
		scope := "tenant"
		if e.Scope == audit.Instance {
			scope = "instance"
		}
		row := []string{e.At.UTC().Format(time.RFC3339), scope, strconv.FormatInt(e.Seq, 10), e.Hash.String(),
			string(e.Actor.Kind), string(e.Action)}
		stated := l.settings(e)
		for _, c := range stated {
			changes.Add(append(slices.Clone(row), c.Setting, c.Old, c.New)...)
		}
		if stated == nil && !slices.Contains(partly, e.Action) {
			changes.Add(append(row, "", "", "")...)
		}
	}
	chain := Table{{"entry", "time", "previous_hash", "hash"}}
	for _, e := range l.links {
		chain.Add(strconv.FormatInt(e.Seq, 10), e.At.UTC().Format(time.RFC3339Nano), e.PrevHash.String(), e.Hash.String())
	}
	return []file{{"changes.csv", changes.CSV()}, {"chain.csv", chain.CSV()}}
}

// settings returns the changes of an entry that concern the age check: settings,
// and which issuer of documents was trusted.
func (l log) settings(e audit.Entry) []audit.Change {
	var stated []audit.Change
	detail := e.Details()
	for _, c := range detail.Changes {
		if e.Scope == audit.Instance && !strings.HasPrefix(c.Setting, "AGEGATE_") || slices.Contains(settings, c.Setting) {
			stated = append(stated, c)
		}
	}
	if e.Action == audit.IssuerTrust {
		for _, name := range []string{"country", "doctype", "fingerprint"} {
			stated = append(stated, audit.Change{Setting: name, New: detail.Params[name]})
		}
	}
	return stated
}

// summary counts the actions in changes.csv.
func (l log) summary() string {
	counts := map[audit.Action]int{}
	for _, e := range l.changes {
		if !slices.Contains(partly, e.Action) || l.settings(e) != nil {
			counts[e.Action]++
		}
	}
	var parts []string
	for action, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d", action, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
