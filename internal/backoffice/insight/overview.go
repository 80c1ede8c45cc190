package insight

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// Window is the length of time that an overview covers.
type Window string

// The windows.
const (
	WindowDay   Window = "24h"
	WindowWeek  Window = "7d"
	WindowMonth Window = "30d"
)

// days returns how many days of a calendar the window has, 0 for hours.
func (w Window) days() (int, error) {
	switch w {
	case WindowDay:
		return 0, nil
	case WindowWeek:
		return 7, nil
	case WindowMonth:
		return 30, nil
	}
	return 0, errNotFound
}

// starts returns when the points of a window begin. The last point contains now.
func starts(now time.Time, days int, zone *time.Location) []time.Time {
	var list []time.Time
	for i := int64(23); days == 0 && i >= 0; i-- {
		list = append(list, start(number(now, hour)-i, hour))
	}
	today := now.In(zone)
	for i := days - 1; i >= 0; i-- {
		list = append(list, time.Date(today.Year(), today.Month(), today.Day()-i, 0, 0, 0, 0, zone).UTC())
	}
	return list
}

// Overview holds the figures of one mode of a tenant. It counts the sessions that
// were created in the window, each by its status at AsOf.
type Overview struct {
	Window Window
	From   time.Time // the start of an hour of UTC; of a day in the zone for windows of days
	AsOf   time.Time // when it was computed: at most 15 s ago unless Stale
	Stale  bool      // the database did not answer, so the figures are older

	// All sessions.
	Counts  Counts
	Sources map[session.Source]int64
	Series  []Point // oldest first, without gaps

	// Without the sessions whose result a test forced.
	Earned   Counts
	PassRate Rate // of the decided ones
	Funnel   Funnel
	Times    [len(Buckets) + 1]int64 // decided sessions by time from opening to the result; see Buckets

	Webhooks WebhookHealth
	// Allowance is nil in test mode, which costs nothing.
	Allowance *Allowance
}

// Counts holds the number of sessions by effective status.
type Counts struct {
	Created, Pending, Passed, Fallback, Spoof, Expired int64
}

// Decided returns how many sessions have a result.
func (c Counts) Decided() int64 { return c.Passed + c.Fallback + c.Spoof }

func (c *Counts) add(status session.Status, n int64) {
	c.Created += n
	switch status {
	case session.StatusPending:
		c.Pending += n
	case session.StatusPassed:
		c.Passed += n
	case session.StatusFallback:
		c.Fallback += n
	case session.StatusSpoof:
		c.Spoof += n
	case session.StatusExpired:
		c.Expired += n
	}
}

// Funnel counts how far sessions got, each number out of the one before it. A decided
// session has begun a check, by a camera, a document or a wallet.
type Funnel struct {
	Created, Opened, Begun, Decided, Passed int64
}

// Point is a part of the window, one hour or one day of the zone long, the last one unfinished.
type Point struct {
	Start time.Time
	Counts
}

// Rate is a share with its 95 % confidence interval by Wilson's score, all from 0
// to 1. With Of 0 the share is 0 and the interval 0 to 1.
type Rate struct {
	Of, N            int64 // N sessions or events out of Of
	Share, Low, High float64
}

// RateOf returns the rate of n out of a total.
func RateOf(n, of int64) Rate {
	if of <= 0 {
		return Rate{High: 1}
	}
	const z = 1.959963984540054 // the normal distribution's 97.5 % point
	total, share := float64(of), float64(n)/float64(of)
	scale := 1 + z*z/total
	centre := (share + z*z/(2*total)) / scale
	half := z / scale * math.Sqrt(share*(1-share)/total+z*z/(4*total*total))
	return Rate{Of: of, N: n, Share: share, Low: max(0, centre-half), High: min(1, centre+half)}
}

// maxEvents is the maximum of each count in WebhookHealth.
const maxEvents = 1000

// WebhookHealth says how well deliveries succeed. No count exceeds maxEvents.
type WebhookHealth struct {
	// FirstTry is the share of events delivered at the first attempt, of the newest of the last 24 hours that had one.
	FirstTry  Rate
	Pending   int64
	Waiting   int64 // events that wait because their endpoint is disabled
	Failed    int64 // events of the last 24 hours
	MaxEvents int64
	Endpoints []webhook.Failing // the mode's endpoints that are failing or disabled
}

// EventCounts are the counts from which WebhookHealth is computed.
type EventCounts struct {
	Delivered, FirstTry, Pending, Waiting, Failed int64
	Refused                                       int64 // events not delivered yet whose first attempt failed
}

// Allowance is the number of live sessions that a tenant can still pay for.
type Allowance struct {
	FreeLeft  int64 // free checks left in the UTC month; 0 or more; 0 if Unlimited
	FreeLimit int64
	Unlimited bool
	Credit    int64
	TestLimit int64   // test sessions a UTC day; billing.Unlimited for no limit
	TestLeft  int64   // of them; 0 or more; 0 if there is no limit
	PerDay    float64 // units spent per day, averaged over up to seven whole days; 0 if unknown
	Held      int     // units that open sessions reserve, and give back without a result; 0 if Unlimited
	DaysLeft  *int    // how long FreeLeft and Credit last at that rate; nil if unknown or Unlimited
}

// Left is how many live checks the tenant can still pay for, unless Unlimited.
func (a Allowance) Left() int64 { return a.FreeLeft + a.Credit }

// Spent reports that no live session can be created.
func (a Allowance) Spent() bool { return !a.Unlimited && a.Left() <= 0 }

type overviewKey struct {
	Scope
	Window
	zone string
}

// Overview returns the figures of a window, whose days are those of a zone. They are computed at most every 15 s. It
// returns fault.NotFound for an unknown tenant or window.
func (s *Service) Overview(ctx context.Context, scope Scope, w Window, zone *time.Location) (Overview, error) {
	days, err := w.days()
	if err != nil {
		return Overview{}, err
	}
	// The computation serves every request that waits for it, so it must not end with the request that started it.
	ctx = context.WithoutCancel(ctx)
	o, stale, err := s.overview.get(overviewKey{scope, w, zone.String()}, fmt.Sprint(scope, w, zone),
		func() (Overview, error) {
			return s.compute(ctx, scope, w, days, zone)
		})
	o.Stale = stale
	return o, err
}

func (s *Service) compute(ctx context.Context, scope Scope, w Window, days int, zone *time.Location) (Overview, error) {
	now := s.now()
	points := starts(now, days, zone)
	o := Overview{Window: w, From: points[0], AsOf: now, Sources: map[session.Source]int64{}}
	groups, err := s.countFrom(ctx, scope, points, now)
	if err != nil {
		return Overview{}, err
	}
	o.fill(groups, points)
	if o.Webhooks, err = s.webhookHealth(ctx, scope, now); err != nil {
		return Overview{}, err
	}
	if scope.Livemode {
		o.Allowance, err = s.allowance(ctx, scope.TenantID, now)
	}
	return o, err
}

// countFrom counts the scope's sessions created at or after the first point. Where midnight
// is not on a full hour of UTC, a sum counts the sessions of two days: those before midnight
// are counted from rows and moved to the hour before, but not those deleted since the fold.
func (s *Service) countFrom(ctx context.Context, scope Scope, points []time.Time, now time.Time) ([]Group, error) {
	step := int64(day / hour) // the database adds up whole days
	for _, at := range points {
		if !at.Equal(at.Truncate(day)) {
			step = 1
		}
	}
	groups, err := s.count(ctx, scope, points[0], now, step)
	for i, at := range points {
		full := at.Truncate(hour)
		if full.Equal(at) || err != nil {
			continue
		}
		var early []Group
		early, err = s.store.CountSessions(ctx, scope.TenantID, full, at, now)
		for _, g := range early {
			if g.Livemode != scope.Livemode {
				continue
			}
			groups = append(groups, g.times(-1))
			if i > 0 {
				g.Hour--
				groups = append(groups, g)
			}
		}
	}
	return groups, err
}

// fill adds the groups up.
func (o *Overview) fill(groups []Group, points []time.Time) {
	begin := make([]int64, len(points)) // in hours since 1970
	for i, at := range points {
		o.Series = append(o.Series, Point{Start: at})
		begin[i] = number(at, hour)
	}
	for _, g := range groups {
		o.Counts.add(g.Status, g.N)
		if g.Source != "" {
			o.Sources[g.Source] += g.N
		}
		if g.Source != session.SourceForced {
			o.Earned.add(g.Status, g.N)
			o.Funnel.add(g)
			for i, n := range g.Decided {
				o.Times[i] += n
			}
		}
		// A session created just now by a replica whose clock is ahead counts in the last part.
		i, found := slices.BinarySearch(begin, g.Hour)
		if !found {
			i--
		}
		o.Series[i].add(g.Status, g.N)
	}
	o.PassRate = RateOf(o.Earned.Passed, o.Earned.Decided())
}

func (f *Funnel) add(g Group) {
	f.Created += g.N
	switch g.Status {
	case session.StatusPassed, session.StatusFallback, session.StatusSpoof:
		f.Opened += g.N
		f.Begun += g.N
		f.Decided += g.N
	default:
		f.Opened += g.Opened
		f.Begun += g.Begun
	}
	if g.Status == session.StatusPassed {
		f.Passed += g.N
	}
}

func (s *Service) webhookHealth(ctx context.Context, scope Scope, now time.Time) (WebhookHealth, error) {
	counts, err := s.store.CountEvents(ctx, scope, "evt_"+IDAt(now.Add(-day)).String(), maxEvents)
	if err != nil {
		return WebhookHealth{}, err
	}
	health := WebhookHealth{
		FirstTry: RateOf(counts.FirstTry, counts.Delivered+counts.Failed+counts.Refused),
		Pending:  counts.Pending, Waiting: counts.Waiting, Failed: counts.Failed, MaxEvents: maxEvents,
	}
	endpoints, err := s.store.Endpoints(ctx, webhook.OfTenant(scope.TenantID))
	for _, e := range endpoints {
		if e.Livemode == scope.Livemode {
			health.Endpoints = append(health.Endpoints, e)
		}
	}
	return health, err
}

// spendDays is the number of whole days over which the spending of units is averaged.
const spendDays = 7

func (s *Service) allowance(ctx context.Context, tenantID uuid.UUID, now time.Time) (*Allowance, error) {
	t, err := s.store.TenantByID(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	funds, err := s.store.Funds(ctx, []uuid.UUID{tenantID}, now)
	if err != nil {
		return nil, err
	}
	a := Remaining(s.limits, t, funds[tenantID])
	today := number(now, day)
	days, err := s.store.SumDays(ctx, tenantID, today-spendDays, today)
	if err != nil {
		return nil, err
	}
	a.PerDay = perDay(days, max(today-spendDays, number(t.CreatedAt, day)), today)
	if a.PerDay > 0 && !a.Unlimited {
		left := int(float64(a.Left()) / a.PerDay)
		a.DaysLeft = &left
	}
	return &a, nil
}

// Funds are the units from which a tenant pays for live sessions.
type Funds struct {
	FreeUsed int64 // free checks used this month
	Credit   int64 // prepaid balance
	TestUsed int64 // test sessions of this UTC day
	Held     int   // units of Credit or of this month's free checks that open sessions reserve
}

// Remaining returns the allowance with PerDay and DaysLeft not yet set.
func Remaining(limits billing.Limits, t tenant.Tenant, funds Funds) Allowance {
	a := Allowance{FreeLimit: limits.FreeChecksPerMonth, Credit: funds.Credit, TestLimit: limits.TestDailyCap}
	if t.FreeChecks != nil {
		a.FreeLimit = *t.FreeChecks
	}
	if t.TestCap != nil {
		a.TestLimit = *t.TestCap
	}
	a.TestLeft = max(0, a.TestLimit-funds.TestUsed)
	if a.Unlimited = a.FreeLimit == billing.Unlimited; !a.Unlimited {
		a.FreeLeft, a.Held = max(0, a.FreeLimit-funds.FreeUsed), funds.Held
	}
	return a
}

// perDay returns the units spent per day in [first, before), over days, which must lie in that range.
func perDay(days []LedgerDay, first, before int64) float64 {
	var spent int64
	for _, d := range days {
		if d.Kind == billing.EntrySettle {
			spent += d.N
		}
	}
	if before <= first {
		return 0
	}
	return float64(spent) / float64(before-first)
}
