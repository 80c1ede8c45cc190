package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/gatewaytest"

	"github.com/google/uuid"
)

var (
	dayRow  = regexp.MustCompile(`<tr><th scope="row">(\d{4}-\d\d-\d\d)</th>(.*?)</tr>`)
	numbers = regexp.MustCompile(`<td class="number"[^>]*>(\d+)</td>`)
)

// after returns the first number in a page that follows a text, -1 if there is none.
func after(body, text string) int {
	_, rest, _ := strings.Cut(body, text)
	found := regexp.MustCompile(`>(\d+)(?: live[^<]*)?<`).FindStringSubmatch(rest)
	if found == nil {
		return -1
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// TestFiguresAgree: every figure that is shown twice is the same, whatever the zone, and
// each day has the sessions that the list shows for it. Sessions are created shortly
// before and after the midnights of four zones.
func TestFiguresAgree(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		ada, op := member(t, g, shop.Tenant.ID, account.Developer), g.SignIn(t, true, account.ByPasskey)
		const stamp = "2006-01-02 15:04:05.000000+00:00"
		made := 0
		put := func(key string, at time.Time, source string) {
			made++
			id := insight.IDAt(at.Add(time.Duration(made) * time.Millisecond))
			status, ended := "EXPIRED", "NULL"
			if source != "" {
				status, ended = "PASSED", "'"+at.Add(8*time.Second).Format(stamp)+"'"
			}
			c := g.Create(t, key, 18)
			g.Exec(t, "DELETE FROM holds WHERE session_id='"+c.SessionID+"'")
			g.Exec(t, fmt.Sprintf("UPDATE sessions SET id='%s', created_at='%s', expires_at='%s', status='%s', source='%s', "+
				"completed_at=%s WHERE id='%s'", id, at.Format(stamp), at.Add(time.Hour).Format(stamp), status, source, ended,
				c.SessionID))
		}
		zones := []string{"UTC", "Asia/Kolkata", "Asia/Kathmandu", "America/Los_Angeles"}
		for i, name := range zones {
			zone, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			now := g.Clock.Now().In(zone)
			for back := range 3 {
				midnight := time.Date(now.Year(), now.Month(), now.Day()-1-back, 0, 0, 0, 0, zone).UTC()
				put(shop.Live.APIKey, midnight.Add(-10*time.Minute), "")
				put(shop.Live.APIKey, midnight.Add(10*time.Minute), "camera")
				put(shop.Test.APIKey, midnight.Add(-5*time.Minute), []string{"forced", "camera", "document", ""}[i])
			}
			first := time.Date(now.Year(), now.Month(), now.Day()-29, 0, 0, 0, 0, zone).UTC()
			put(shop.Live.APIKey, first.Add(-5*time.Minute), "") // just outside the month, in this zone
		}
		if err := g.App.Insight.Fold(t.Context(), func(time.Time) {}); err != nil {
			t.Fatal(err)
		}
		g.Create(t, shop.Live.APIKey, 18) // of an hour that is not folded
		for _, zone := range zones {
			for _, who := range []*gatewaytest.Staff{ada, op} {
				res, _ := who.Post(t, "/dashboard/account/zone", url.Values{"zone": {zone}})
				want(t, "the zone "+zone, res, http.StatusSeeOther, "/dashboard/account")
			}
			for _, mode := range []string{"test", "live"} {
				figuresAgree(t, ada, zone, "/dashboard/"+shop.Tenant.ID.String()+"/"+mode)
			}
			tenantsAgree(t, op, zone, shop.Tenant.ID)
		}
	})
}

// figuresAgree compares the figures of an overview with each other and with the list.
func figuresAgree(t *testing.T, who *gatewaytest.Staff, zone, base string) {
	t.Helper()
	for _, window := range []string{"7d", "30d"} {
		name := zone + " " + base[len(base)-4:] + " " + window
		_, body := who.Get(t, base+"?window="+window)
		charted := 0
		for _, row := range dayRow.FindAllStringSubmatch(body, -1) {
			day := 0
			for _, cell := range numbers.FindAllStringSubmatch(row[2], -1) {
				n, _ := strconv.Atoi(cell[1])
				day += n
			}
			charted += day
			if day == 0 {
				continue
			}
			_, list := who.Get(t, base+"/sessions?from="+row[1]+"&to="+row[1])
			if n := len(listedIDs(list)); n != day {
				t.Errorf("%s: the chart has %d sessions on %s, the list %d", name, day, row[1], n)
			}
		}
		sessions := after(body, "<dt>Sessions</dt>")
		if sessions != charted || charted == 0 {
			t.Errorf("%s: %d sessions, %d in the chart", name, sessions, charted)
		}
		forced := 0
		if found := regexp.MustCompile(`(\d+) forced by tests`).FindStringSubmatch(body); found != nil {
			forced, _ = strconv.Atoi(found[1])
		}
		_, funnel, _ := strings.Cut(body, "<h2>Shopper funnel</h2>")
		if strings.Contains(funnel, "tests forced") != strings.Contains(funnel, "These are tests") {
			t.Errorf("%s: live mode tells of forced results", name)
		}
		var steps []int
		for _, step := range []string{"Created", "Page opened", "Face in view, or decided", "Decided", "Passed"} {
			steps = append(steps, after(funnel, ">"+step+"</th>"))
		}
		for i, n := range steps {
			if n < 0 || n > steps[max(0, i-1)] {
				t.Errorf("%s: the funnel has the steps %v", name, steps)
			}
		}
		if steps[0] != sessions-forced {
			t.Errorf("%s: the funnel begins with %d of %d sessions, %d of them forced", name, steps[0], sessions, forced)
		}
		for text, from := range map[string]string{"<small>%d decided, ": "<dt>Sessions</dt>", "of %d": "<dt>Pass rate</dt>"} {
			_, note, _ := strings.Cut(body, from)
			if note, _, _ = strings.Cut(note, "</div>"); !strings.Contains(note, fmt.Sprintf(text, steps[3])) {
				t.Errorf("%s: %d are decided, but not by %q", name, steps[3], note)
			}
			few := from == "<dt>Pass rate</dt>" && steps[3] > 0 && steps[3] < 20
			if few != strings.Contains(note, "Too few to say") {
				t.Errorf("%s: of %d decided, the rate says %q", name, steps[3], note)
			}
		}
	}
}

// tenantsAgree compares a tenant's live sessions in the operator's list with those of its page.
func tenantsAgree(t *testing.T, op *gatewaytest.Staff, zone string, id uuid.UUID) {
	t.Helper()
	_, list := op.Get(t, "/operator")
	_, page := op.Get(t, "/operator/tenants/"+id.String())
	listed, own := after(list, `data-label="Live sessions and pass rate, 30 days"`), after(page, "<dt>Sessions</dt>")
	if listed != own || own < 1 {
		t.Errorf("%s: the list of tenants has %d live sessions, the tenant's page %d", zone, listed, own)
	}
}
