package door

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	agegate "github.com/agegate/agegate/sdk/go"
)

// reopenable is how long after a pass the gateway repeats the redirect for the browser
// that passed.
const reopenable = 15 * time.Minute

// begin is the button of the door's page: the only request that creates a session.
func (d *Door) begin(w http.ResponseWriter, r *http.Request) {
	v := d.visit(r)
	v.To = localTarget(r.PostFormValue("to"))
	want := d.demand(r, v.To)
	switch {
	case want.Blocked:
		d.refuse(w, r, v.To)
		return
	case want == (Demand{}) || d.holds(r, v.To):
		d.onward(w, r, d.destination(v.To))
		return
	}
	// A visitor who hangs up must not look like an outage.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), d.patience)
	defer cancel()
	if v.meets(want) && d.stillOpen(ctx, v) {
		d.metrics.sessions.WithLabelValues("reused").Inc()
		d.lead(w, r, v)
		return
	}
	if r.Header.Get("X-Forwarded-For") != "" && !d.cfg.trusts(remoteOf(r)) {
		d.unnamed.Do(func() {
			d.log.WarnContext(ctx, "X-Forwarded-For does not count: DOOR_TRUSTED_PROXIES does not name who sent it")
		})
	}
	now := d.now()
	v.Begun = slices.DeleteFunc(v.Begun, func(at int64) bool { return now.Sub(time.Unix(at, 0)) >= limitWindow })
	if len(v.Begun) >= d.cfg.Limits.Browser || !d.limiter.take(ctx, d.cfg.Limits, d.cfg.networksOf(r), now) {
		d.metrics.sessions.WithLabelValues("limited").Inc()
		w.Header().Set("Retry-After", "1800")
		d.pages.show(w, r, http.StatusTooManyRequests, view{Page: "busy", To: v.To})
		return
	}
	created, err := d.account(want).CreateSession(ctx, agegate.CreateSessionRequest{
		TargetAge: want.Age, SuccessURL: d.address("return", v.To), CancelURL: d.address("cancel", v.To),
	}, agegate.CreateSessionParams{IdempotencyKey: agegate.NewIdempotencyKey()})
	v.Demand = want
	if err != nil {
		d.metrics.sessions.WithLabelValues("failed").Inc()
		d.log.ErrorContext(ctx, "no session was created", "error", err)
		d.outage(w, r, v, err)
		return
	}
	d.metrics.sessions.WithLabelValues("created").Inc()
	v.Session, v.URL, v.Begun = created.SessionID, created.VerificationURL, append(v.Begun, now.Unix())
	d.lead(w, r, v)
}

// stillOpen reports whether the browser's session can still be opened on the hosted
// page.
func (d *Door) stillOpen(ctx context.Context, v visit) bool {
	if v.Session == "" {
		return false
	}
	status, err := d.account(v.Demand).GetSessionStatus(ctx, v.Session)
	return err == nil && (status.Status == agegate.SessionStatusPending ||
		status.Status == agegate.SessionStatusPassed && d.now().Sub(status.StatusAt) < reopenable)
}

// lead sends the browser to the hosted page.
func (d *Door) lead(w http.ResponseWriter, r *http.Request, v visit) {
	d.setVisit(w, v)
	d.onward(w, r, v.URL+"?asked&lang="+d.pages.chosen(r))
}

// ask shows the door's page again, in a language that the visitor chose there.
func (d *Door) ask(w http.ResponseWriter, r *http.Request) {
	target := localTarget(r.URL.Query().Get(targetField))
	if d.demand(r, target) == (Demand{}) || d.holds(r, target) {
		d.redirect(w, r, target)
		return
	}
	d.refuse(w, r, target)
}

// onward answers the form by a page that leads on. For a redirect, the
// Content-Security-Policy of the page with the form would have to name the address of the
// gateway, or of a client.
func (d *Door) onward(w http.ResponseWriter, r *http.Request, address string) {
	w.Header().Set("Refresh", "0; url="+address)
	d.pages.show(w, r, http.StatusOK, view{Page: "onward", URL: address, Referrer: "origin"})
}

// outage answers a visitor whom the gateway cannot check now. If the owner allows it,
// they go on without a check, except when the gateway refused the request.
func (d *Door) outage(w http.ResponseWriter, r *http.Request, v visit, err error) {
	var refused *agegate.Error
	if d.cfg.Allow && (!errors.As(err, &refused) || refused.Status >= http.StatusInternalServerError) {
		d.metrics.passes.WithLabelValues("unchecked").Inc()
		d.givePass(w, pass{Demand: v.Demand, At: d.now().Unix(), Unchecked: true})
		d.pages.show(w, r, http.StatusOK, view{Page: "unchecked", URL: d.destination(v.To)})
		return
	}
	w.Header().Set("Retry-After", "60")
	d.pages.show(w, r, http.StatusServiceUnavailable, view{Page: "unavailable", To: v.To})
}

// back handles the success URL. A visitor gets a pass only with the token of the
// session that this browser began, and if the gateway says that the session is PASSED.
func (d *Door) back(w http.ResponseWriter, r *http.Request) {
	v := d.visit(r)
	if v.Session == "" {
		d.refuseReturn(w, r, v, "this browser has no session open")
		return
	}
	proof := agegate.VerifyRedirect(r.URL.RawQuery, v.Session, d.account(v.Demand).secrets...)
	ctx, cancel := context.WithTimeout(r.Context(), d.patience)
	defer cancel()
	status, err := d.account(v.Demand).GetSessionStatus(ctx, v.Session)
	switch {
	case err != nil:
		d.log.ErrorContext(ctx, "no status", "error", err)
		w.Header().Set("Retry-After", "60")
		d.pages.show(w, r, http.StatusServiceUnavailable, view{Page: "unavailable", To: v.To})
	case status.Status != agegate.SessionStatusPassed:
		d.refuseReturn(w, r, v, "the session is not PASSED")
	case proof != nil:
		d.refuseReturn(w, r, v, "the session is PASSED, but the token does not verify: "+
			"it is old or forged, or AGEGATE_REDIRECT_SECRET or the clock is wrong")
	default:
		d.metrics.passes.WithLabelValues("checked").Inc()
		d.givePass(w, pass{Demand: v.Demand, At: status.StatusAt.Unix()}) // repeated, the return gives the same pass
		d.setVisit(w, visit{Begun: v.Begun})
		d.redirect(w, r, v.To)
	}
}

func (d *Door) redirect(w http.ResponseWriter, r *http.Request, target string) {
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, d.destination(target), http.StatusSeeOther) //nolint:gosec // on the site
}

// holds reports whether a browser has a pass that does for a target: nobody is asked
// twice, whichever page of the door they open again.
func (d *Door) holds(r *http.Request, target string) bool {
	p, ok := d.pass(r)
	return ok && !p.Unchecked && p.meets(d.demand(r, target)) && !d.asksAgain(target, p)
}

// target returns the page that the tab wanted, or else the browser.
func (d *Door) target(r *http.Request, v visit) string {
	if to := ""; d.seal.open("target", r.URL.Query().Get(targetField), &to) == nil {
		return localTarget(to)
	}
	return localTarget(v.To)
}

func (d *Door) refuseReturn(w http.ResponseWriter, r *http.Request, v visit, why string) {
	if target := d.target(r, v); d.holds(r, target) {
		d.redirect(w, r, target)
		return
	}
	d.metrics.passes.WithLabelValues("refused").Inc()
	d.log.WarnContext(r.Context(), "a return gave no pass", "why", why)
	d.pages.show(w, r, http.StatusForbidden, view{Page: "expired", To: d.target(r, v)})
}

// cancelled handles the cancel URL, to which the gateway's page leads visitors who did
// not pass.
func (d *Door) cancelled(w http.ResponseWriter, r *http.Request) {
	target := d.target(r, d.visit(r))
	if d.holds(r, target) {
		d.redirect(w, r, target)
		return
	}
	d.pages.show(w, r, http.StatusForbidden, view{Page: "failed", To: target})
}
