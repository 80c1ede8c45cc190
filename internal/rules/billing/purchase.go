package billing

import (
	"iter"
	"time"

	"github.com/google/uuid"
)

// Terms hold everything that determines how a new session is paid for. Sessions
// with the same terms can be paid for together.
type Terms struct {
	TenantID uuid.UUID
	Livemode bool
	Period   string // the UTC month of a live session, the UTC day of a test one
	Limit    int64  // units of the period, or Unlimited
}

// Counter names the counter of the period's units.
func (t Terms) Counter() Counter {
	if t.Livemode {
		return CounterFree
	}
	return CounterTest
}

// Day returns the name of a time's UTC day, the period in which test sessions are counted.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Terms returns the terms of a new session.
func (l Limits) Terms(c Charge) Terms {
	t := Terms{TenantID: c.TenantID, Livemode: c.Livemode}
	own := c.TestCap
	if c.Livemode {
		t.Period, t.Limit, own = c.Now.UTC().Format("2006-01"), l.FreeChecksPerMonth, c.FreeChecks
	} else {
		t.Period, t.Limit = Day(c.Now), l.TestDailyCap
	}
	if own != nil {
		t.Limit = *own
	}
	return t
}

// Purchase is the amount that new sessions on the same terms take from one balance, all or
// nothing.
type Purchase struct {
	Terms
	Units int64
	// Credit says that the units are prepaid. They may be taken only if the period's allowance is
	// used up and none of its holds expired at or before Now.
	Credit  bool
	Now     time.Time
	Holds   []Hold  // of live sessions
	Entries []Entry // of live sessions
}

// Purchases returns the ways to pay for new sessions on the same terms, in the
// order in which to try them. If none succeeds, call Take for each session: it
// also releases expired holds and returns the reason of a refusal.
func Purchases(terms Terms, charges []Charge) iter.Seq2[Purchase, error] {
	return func(yield func(Purchase, error) bool) {
		test := Purchase{Terms: terms, Units: int64(len(charges)), Now: charges[len(charges)-1].Now}
		if !terms.Livemode {
			yield(test, nil)
			return
		}
		for _, of := range []Balance{{SourceFree, terms.Period}, {Source: SourceCredit}} {
			live := test
			live.Credit = of.Source == SourceCredit
			if err := live.hold(of, charges); !yield(live, err) {
				return
			}
		}
	}
}

// hold adds the holds on a balance and their entries in the ledger.
func (p *Purchase) hold(of Balance, charges []Charge) error {
	for _, c := range charges {
		h := Hold{SessionID: c.SessionID, TenantID: c.TenantID, Source: of.Source, Period: of.Period, ExpiresAt: c.ExpiresAt}
		entry, err := entryOf(h, EntryHold, -1, c.Now)
		if err != nil {
			return err
		}
		p.Holds, p.Entries = append(p.Holds, h), append(p.Entries, entry)
	}
	return nil
}
