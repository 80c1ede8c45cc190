package audit_test

import (
	"crypto/x509"
	"fmt"
	"reflect"
	"time"

	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/trustlist/trustlisttest"
	"agegate/internal/rules/audit"

	"github.com/google/uuid"
)

// publishedList returns a list without issuers, and what the entry about it says.
func publishedList(p trustlisttest.Publisher) ([]byte, audit.Detail) {
	issued, next := now().Add(-time.Hour), now().AddDate(0, 1, 0).Truncate(time.Second)
	raw := p.SignXML(trustlisttest.XML{Sequence: 3, Issued: issued, Next: next})
	parsed, _ := trustlist.Parse(raw, trustlist.Source{Format: trustlist.FormatAV,
		Signers: []*x509.Certificate{p.Certificate}}, now())
	return raw, audit.Detail{
		Params: map[string]string{"name": "AV", "digest": fmt.Sprintf("%x", parsed.Digest)},
		Changes: []audit.Change{{Setting: "sequence", Old: "0", New: "3"},
			{Setting: "next_update", New: next.Format(time.RFC3339)}},
	}
}

// wrote performs an act without and with an actor, and compares the entry.
func (o *fixture) wrote(
	action audit.Action, scope audit.Scope, owner uuid.UUID, do func(audit.Actor) error, target func() string,
	detail audit.Detail,
) {
	o.t.Helper()
	ctx, actor := o.t.Context(), audit.User(owner, "Zoë")
	head, err := o.AuditHead(ctx, scope)
	o.must(err)
	before := o.state(owner)
	if err := do(audit.Actor{}); err == nil {
		o.t.Errorf("%s by nobody succeeded", action)
	}
	if after := o.state(owner); after != before {
		o.t.Errorf("%s by nobody changed what is stored", action)
	}
	start := now()
	if err := do(actor); err != nil {
		o.t.Errorf("%s: %v", action, err)
		return
	}
	entries, err := o.AuditChain(ctx, scope, head.Seq, 9)
	o.must(err)
	if len(entries) != 1 {
		o.t.Errorf("%s wrote %d entries", action, len(entries))
		return
	}
	e, want := entries[0], owner.String()
	if target != nil {
		want = target()
	}
	if e.Action != action || e.Actor != actor || e.Target != want || e.At.Before(start) ||
		!reflect.DeepEqual(e.Details(), detail) {
		o.t.Errorf("entry %+v with %s\nwant %s of %s with %+v", e, e.Detail, action, want, detail)
	}
}
