package dashboard_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate"
	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/audit"
)

var listed = regexp.MustCompile(`title="(\S+)" data-testid="session"`)

// listedIDs returns the sessions of a page in its order.
func listedIDs(body string) (ids []string) {
	for _, found := range listed.FindAllStringSubmatch(body, -1) {
		ids = append(ids, found[1])
	}
	return ids
}

// TestRowsBeginWithTheOrder: rows of sessions and of deliveries show the order, if there is one, which is cut before
// its last eight characters where it is long, and then the end of the ID.
func TestRowsBeginWithTheOrder(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		receiver := gatewaytest.NewReceiver(t)
		shop := g.Shop(t, receiver.URL, nil)
		support := member(t, g, shop.Tenant.ID, account.Support)
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		for _, order := range []string{"", "Tür-Österreich"} {
			made := g.Create(t, shop.Test.APIKey, 18)
			g.Exec(t, "UPDATE sessions SET order_ref = '"+order+"' WHERE id = '"+made.SessionID+"'")
			g.Force(t, gatewaytest.Browser(), made, "verified")
		}
		for path, head := range map[string]string{
			"": "Order and session", "/sessions": "Order and session", "/webhooks": "Order and event",
		} {
			_, body := support.Get(t, base+path)
			rows := shortID.FindAllStringSubmatch(body, -1)
			if len(rows) != 2 || rows[0][2] != `<strong><span class="name">Tür-Ös</span>terreich</strong> ` || rows[1][2] != "" {
				t.Fatalf("%s: the rows are %q", path, rows)
			}
			for _, row := range rows {
				if row[1] != row[3]+row[4] {
					t.Errorf("%s: the row of %s has %s and %s", path, row[1], row[3], row[4])
				}
			}
			if !strings.Contains(body, ">"+head+"</th>") {
				t.Errorf("%s: no column %q", path, head)
			}
		}
	})
}

// shortID matches the link of a row.
var shortID = regexp.MustCompile(
	`title="(\S+)"[^>]*>(<strong>.*?</strong> )?<code><span class="visually-hidden">(\S+)</span>(\w{8})</code>`)

// TestRowsSayWhatIsAskedFor: an open session that waits for a document is not shown like one that nobody opened.
func TestRowsSayWhatIsAskedFor(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		support := member(t, g, shop.Tenant.ID, account.Support)
		g.Create(t, shop.Test.APIKey, 18)
		made := g.Create(t, shop.Test.APIKey, 18)
		g.Exec(t, "UPDATE sessions SET document_opened_at = created_at WHERE id = '"+made.SessionID+"'")
		for _, query := range []string{"", "?age=18", "?status=PENDING"} {
			_, body := support.Get(t, "/dashboard/"+shop.Tenant.ID.String()+"/test/sessions"+query)
			if row := between(t, body, made.SessionID, "</tr>"); !strings.Contains(row, "document asked for") ||
				strings.Count(body, "document asked for") != 1 {
				t.Errorf("%q: %s", query, body)
			}
		}
	})
}

// TestSessionsOfAKey: the keys and a session's page lead to the sessions that a key has
// made, so that those of a test program with a key of its own can be told from others.
func TestSessionsOfAKey(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, other := g.Shop(t, "", nil), g.Shop(t, "", nil)
		key, plain, err := g.App.Tenants.CreateKey(t.Context(), audit.System("test"), shop.Tenant.ID, false, "Conformance")
		if err != nil {
			t.Fatal(err)
		}
		g.Create(t, shop.Test.APIKey, 18)
		made := []string{g.Create(t, plain, 18).SessionID, g.Create(t, plain, 21).SessionID}
		dev := member(t, g, shop.Tenant.ID, account.Developer)
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		byKey := "?key=" + key.ID.String()
		list := base + "/sessions" + byKey
		for _, path := range []string{base + "/keys", base + "/sessions/" + made[0]} {
			if _, body := dev.Get(t, path); !strings.Contains(body, `href="`+list+`"`) {
				t.Errorf("%s does not lead to the key's sessions", path)
			}
		}
		slices.Reverse(made)
		for query, want := range map[string][]string{"": made, "&age=21": made[:1]} {
			res, body := dev.Get(t, list+query)
			if got := listedIDs(body); res.StatusCode != http.StatusOK || !slices.Equal(got, want) ||
				!strings.Contains(body, "Conformance "+key.Hint()) {
				t.Errorf("%q lists %v, want %v", query, got, want)
			}
		}
		foreign, err := g.App.Tenants.Authenticate(t.Context(), other.Test.APIKey)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"x", foreign.KeyID.String()} {
			res, body := dev.Get(t, base+"/sessions?key="+id)
			want(t, "another key", res, http.StatusUnprocessableEntity, "")
			if !strings.Contains(body, "is not a key of this mode") || len(listedIDs(body)) > 0 {
				t.Errorf("%s is not refused", id)
			}
		}
		for _, query := range []string{"?id=zz", byKey, byKey + "&age=21", "?key=x", "?age=21"} {
			if _, body := dev.Get(t, base+"/sessions"+query); strings.Count(body, ">Show all</a>") != 1 {
				t.Errorf("%s: %d ways back to all sessions, want 1", query, strings.Count(body, ">Show all</a>"))
			}
		}
	})
}

// TestSessionsPageBothWays: going from the newest page to the oldest and back
// shows the same pages, with the chosen filter.
func TestSessionsPageBothWays(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		for range 2*insight.PageSize + 3 {
			g.Create(t, shop.Test.APIKey, 18)
		}
		g.Create(t, shop.Test.APIKey, 21)
		support := member(t, g, shop.Tenant.ID, account.Support)
		path := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions"
		follow := func(body, id string) string {
			t.Helper()
			_, after, found := strings.Cut(body, `data-testid="`+id+`"`)
			if !found {
				return ""
			}
			before := strings.TrimSuffix(body, `data-testid="`+id+`"`+after)
			start := strings.LastIndex(before, `href="`)
			address, _, _ := strings.Cut(before[start+len(`href="`):], `"`)
			return strings.ReplaceAll(address, "&amp;", "&")
		}
		_, body := support.Get(t, path+"?age=18")
		if follow(body, "newer") != "" {
			t.Error("the first page leads to newer ones")
		}
		pages, oldest := [][]string{listedIDs(body)}, follow(body, "oldest")
		for {
			next := follow(body, "next")
			if next == "" {
				break
			}
			_, body = support.Get(t, path+next)
			pages = append(pages, listedIDs(body))
		}
		if len(pages) != 3 || len(pages[2]) != 3 ||
			!slices.IsSortedFunc(slices.Concat(pages...), func(a, b string) int { return strings.Compare(b, a) }) {
			t.Fatalf("%d pages, %v", len(pages), pages)
		}
		_, last := support.Get(t, path+oldest)
		if all := slices.Concat(pages...); !slices.Equal(listedIDs(last), all[len(all)-insight.PageSize:]) ||
			follow(last, "next") != "" || follow(last, "newer") == "" {
			t.Errorf("the oldest are %v", listedIDs(last))
		}
		for i := len(pages) - 2; i >= 0; i-- {
			newer := follow(body, "newer")
			if !strings.Contains(newer, "age=18") {
				t.Fatalf("the way to newer ones is %q", newer)
			}
			_, body = support.Get(t, path+newer)
			if got := listedIDs(body); !slices.Equal(got, pages[i]) {
				t.Errorf("page %d on the way back has %d sessions from %v, want %v", i, len(got), got[0], pages[i][0])
			}
		}
		if follow(body, "newer") != "" {
			t.Error("the first page, met on the way back, leads to newer ones")
		}
	})
}

// TestSessionsAreExported: the file has the sessions that match the filter, in cells that
// are not formulas, and the list leads to it if there are any. The guides for support explain its columns.
func TestSessionsAreExported(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop := g.Shop(t, "", nil)
		for i := range 5 {
			made := g.Create(t, shop.Test.APIKey, 18+3*(i%2))
			if i < 3 {
				g.Force(t, gatewaytest.Browser(), made, "verified")
			}
		}
		support := member(t, g, shop.Tenant.ID, account.Support)
		list := "/dashboard/" + shop.Tenant.ID.String() + "/test/sessions"
		for _, tt := range []struct {
			query url.Values
			n     int
		}{
			{url.Values{}, 5},
			{url.Values{"age": {"18"}}, 3},
			{url.Values{"status": {"PASSED"}}, 3},
			{url.Values{"status": {"SPOOF"}}, 0},
			{url.Values{"from": {"2001-01-01"}, "to": {"2001-12-31"}}, 0},
		} {
			_, body := support.Get(t, list+"?"+tt.query.Encode())
			if strings.Contains(body, `data-testid="export"`) != (tt.n > 0) {
				t.Errorf("%v: the page leads to a file: %t", tt.query, tt.n == 0)
			}
			res, file := support.Get(t, list+".csv?"+tt.query.Encode())
			want(t, "export", res, http.StatusOK, "")
			rows, err := csv.NewReader(strings.NewReader(file)).ReadAll()
			if err != nil || len(rows) != tt.n+1 || res.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
				t.Fatalf("%v: %d rows, %v, %v", tt.query, len(rows), err, res.Header)
			}
			for _, name := range []string{"support", "support.de"} {
				guide, err := agegate.Docs.ReadFile("docs/guides/" + name + ".md")
				_, explained, _ := strings.Cut(string(guide), "CSV")
				for _, column := range rows[0] {
					if err != nil || !strings.Contains(explained, "`"+column+"`") {
						t.Errorf("%s: the column %s is not explained: %v", name, column, err)
					}
				}
			}
			for _, row := range rows[1:] {
				for _, cell := range row {
					if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@") {
						t.Errorf("a cell begins like a formula: %q", cell)
					}
				}
			}
		}
		res, _ := support.Get(t, list+".csv?age=soon")
		want(t, "an unreadable filter", res, http.StatusNotFound, "")
		res, _ = member(t, g, shop.Tenant.ID, account.Compliance).Get(t, list+".csv")
		want(t, "for who reads no sessions", res, http.StatusForbidden, "")
	})
}

// TestTimesAreInOneZone: tables, filters and charts use the zone that the user
// has chosen, and name it; another user of the same tenant keeps their own zone.
func TestTimesAreInOneZone(t *testing.T) {
	gatewaytest.Page(t, func(t *testing.T, g *gatewaytest.Gateway) {
		g.Clock.Begin(time.Hour)
		shop := g.Shop(t, "", nil)
		base := "/dashboard/" + shop.Tenant.ID.String() + "/test"
		zone, err := time.LoadLocation("Pacific/Auckland") // its day begins half a day earlier than in UTC
		if err != nil {
			t.Fatal(err)
		}
		g.Create(t, shop.Test.APIKey, 18)
		ada, bob := member(t, g, shop.Tenant.ID, account.Developer), member(t, g, shop.Tenant.ID, account.Viewer)
		for _, wrong := range []string{"Local", "Nowhere/Land", "../../etc/passwd", "/etc/localtime",
			strings.Repeat("A", 65)} {
			res, _ := ada.Post(t, "/dashboard/account/zone", url.Values{"zone": {wrong}})
			want(t, "the zone "+wrong, res, http.StatusUnprocessableEntity, "")
		}
		res, _ := ada.Post(t, "/dashboard/account/zone", url.Values{"zone": {zone.String()}})
		want(t, "a zone", res, http.StatusSeeOther, "/dashboard/account")
		for who, in := range map[*gatewaytest.Staff]*time.Location{ada: zone, bob: time.UTC} {
			today := g.Clock.Now().In(in).Format(time.DateOnly)
			for path, texts := range map[string][]string{
				base: {`data-zone="` + in.String() + `"`, "<small>" + in.String() + "</small>",
					g.Clock.Now().In(in).Format("15:00") + "</th>", "Times: " + in.String()},
				base + "?window=7d":  {">" + today + "</th>", "From (" + in.String() + ")"},
				base + "/sessions":   {"From (" + in.String() + ")"},
				"/dashboard/account": {`data-zone="` + in.String() + `"`},
			} {
				_, body := who.Get(t, path)
				for _, text := range texts {
					if !strings.Contains(body, text) {
						t.Errorf("%s in %s: no %q", path, in, text)
					}
				}
			}
			_, body := who.Get(t, base+"/sessions?from="+today+"&to="+today)
			if n := len(listedIDs(body)); n != 1 {
				t.Errorf("%d sessions of today, %s, in %s", n, today, in)
			}
		}
	})
}
