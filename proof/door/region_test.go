package door

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"

	"agegate/internal/rules/tenant"
	"agegate/internal/store/pgtest"
)

// ruled returns the settings of a door with a table, whose rules for documents are a
// tenant's of their own.
func (s *site) ruled(t *testing.T, table string, settings ...string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.txt")
	write(t, file, []byte(table))
	paper := s.Shop(t, "", func(o *tenant.Tenant) {
		o.SuccessURL, o.CancelURL, o.DocumentOnly, o.DocumentCheck = s.url+"/", s.url+"/", true, true
	})
	return append([]string{"DOOR_RULES=" + file, "DOOR_DOCUMENT_API_KEY=" + paper.Test.APIKey,
		"DOOR_DOCUMENT_REDIRECT_SECRET=" + paper.Test.RedirectSecret}, settings...)
}

// places writes a file of networks with their countries and states.
func places(t *testing.T, networks map[string][2]string) string {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "Test-City", IncludeReservedNetworks: true})
	if err != nil {
		t.Fatal(err)
	}
	for text, at := range networks {
		_, network, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		record := mmdbtype.Map{"country": mmdbtype.Map{"iso_code": mmdbtype.String(at[0])}}
		if at[1] != "" {
			record["subdivisions"] = mmdbtype.Slice{mmdbtype.Map{"iso_code": mmdbtype.String(at[1])}}
		}
		if err := tree.Insert(network, record); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(t.TempDir(), "places.mmdb")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := tree.WriteTo(file); err != nil {
		t.Fatal(err)
	}
	return name
}

const regional = `GB check 18
DE check 16
US check 18
US-TX check 18 document
JP free
FR block
`

// TestRegionsOfVisitors: a pass is good where as much is asked as it shows, and nowhere
// else.
func TestRegionsOfVisitors(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	s.door = s.newDoor(t, s.ruled(t, regional, "DOOR_REGION_HEADER=CF-IPCountry,CF-Region-Code", "DOOR_UPSTREAM="+upstream(t),
		"DOOR_FREE=/free")...)
	in := func(country, state string) []string {
		return []string{"CF-IPCountry: " + country, "CF-Region-Code: " + state}
	}
	v := s.visitor(t)
	if res := v.get("/", in("JP", "13")...); res.status != http.StatusOK || res.header.Get("Age-Over") != "0" {
		t.Errorf("where nothing is asked: %d, age %q", res.status, res.header.Get("Age-Over"))
	}
	for _, at := range [][]string{in("FR", ""), in("XX", ""), in("BR", ""), nil} {
		res := v.get("/", at...)
		if res.status != http.StatusForbidden || !strings.Contains(res.body, "Not available in your region") ||
			strings.Contains(res.body, "<form") {
			t.Errorf("%v is answered %d %s", at, res.status, res.body)
		}
		if res := v.do(http.MethodPost, "/_door/begin", map[string][]string{"to": {"/"}}, at...); res.status != http.StatusForbidden {
			t.Errorf("%v: the button is answered %d", at, res.status)
		}
		if res := v.get("/free", at...); res.status != http.StatusOK {
			t.Errorf("%v: a free page is answered %d", at, res.status)
		}
	}
	if n := s.Count(t, "sessions"); n != 0 {
		t.Fatalf("%d sessions", n)
	}
	// Each row passes where it comes from, and then visits the regions after it.
	for _, row := range []struct {
		from  []string
		asked string
		age   string
		good  map[string]bool
	}{
		{in("DE", ""), "Are you 16 or over?", "16", map[string]bool{"DE": true, "GB": false, "US": false, "FR": false, "JP": true}},
		{in("GB", ""), "Are you 18 or over?", "18", map[string]bool{"DE": true, "GB": true, "US": false, "FR": false, "": false}},
		{in("US", "TX"), "Are you 18 or over?", "18", map[string]bool{"DE": true, "GB": true, "US": true, "FR": false, "": false}},
		{in("US", ""), "Are you 18 or over?", "18", map[string]bool{"US": true, "DE": true}},
	} {
		v := s.visitor(t)
		page := v.get("/page", row.from...)
		if !strings.Contains(page.body, row.asked) {
			t.Errorf("%v is asked %s", row.from, page.body)
		}
		res := v.do(http.MethodPost, "/_door/begin", map[string][]string{"to": {"/page"}}, row.from...)
		_, hosted, _ := strings.Cut(res.header.Get("Refresh"), "0; url=")
		hosted, _, _ = strings.Cut(hosted, "?asked")
		back := v.get(s.force(t, v, hosted, "verified"), row.from...)
		if back.location != s.url+"/page" {
			t.Fatalf("%v: the return is answered %d %s", row.from, back.status, back.body)
		}
		for country, good := range row.good {
			res := v.get("/page", in(country, "TX")...)
			age := map[bool]string{true: row.age, false: "0"}[good]
			if (res.status == http.StatusOK) != good || good && res.header.Get("Age-Over") != age {
				t.Errorf("a pass of %v in %q is answered %d, age %q", row.from, country, res.status, res.header.Get("Age-Over"))
			}
			if free := v.get("/free", in(country, "TX")...); free.header.Get("Age-Over") != age {
				t.Errorf("a pass of %v in %q tells a free page %q", row.from, country, free.header.Get("Age-Over"))
			}
		}
	}
	if n := s.Count(t, "sessions WHERE target_age = 16"); n != 1 {
		t.Errorf("%d sessions of 16 years", n)
	}
	if n := s.Count(t, "sessions s JOIN tenants t ON t.id = s.tenant_id WHERE t.document_only"); n != 2 {
		t.Errorf("%d sessions of the tenant for documents", n)
	}
	// A session that was begun where less is asked is not led back to where more is.
	v = s.visitor(t)
	button := func(country string) string {
		res := v.do(http.MethodPost, "/_door/begin", map[string][]string{"to": {"/"}}, in(country, "TX")...)
		return res.header.Get("Refresh")
	}
	if first := button("DE"); first == "" || button("DE") != first || button("GB") == first {
		t.Error("an open session of 16 years is used where 18 are asked")
	}
}

// TestRegionsOfAddresses: a file says where an address is, and a visitor names no other.
func TestRegionsOfAddresses(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	file := places(t, map[string][2]string{"203.0.113.0/24": {"JP", ""}, "198.51.100.0/24": {"US", "TX"},
		"2001:db8::/32": {"FR", ""}, "127.0.0.0/8": {"GB", ""}})
	s.door = s.newDoor(t, s.ruled(t, regional, "DOOR_REGION_FILE="+file, "DOOR_UPSTREAM="+upstream(t))...)
	for forwarded, want := range map[string]string{"203.0.113.9": "the site", "": "Are you 18 or over?", "198.51.100.1": "Are you 18 or over?",
		"203.0.113.9, 198.51.100.1": "Are you 18 or over?", "2001:db8::1": "Not available", "192.0.2.1": "Not available"} {
		if res := s.visitor(t).get("/", "X-Forwarded-For: "+forwarded); !strings.Contains(res.body, want) {
			t.Errorf("%q is answered %d %s", forwarded, res.status, res.body)
		}
	}
	untrusted := s.newDoor(t, s.ruled(t, regional, "DOOR_REGION_HEADER=CF-IPCountry", "DOOR_TRUSTED_PROXIES=10.0.0.0/8",
		"DOOR_UPSTREAM="+upstream(t))...)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("CF-IPCountry", "JP")
	w := httptest.NewRecorder()
	if untrusted.ServeHTTP(w, r); w.Code != http.StatusForbidden {
		t.Errorf("a visitor names a region: %d", w.Code)
	}
}

// TestRegionsByProxies: the guide's files bring the CDN's header and the visitor's address
// to the door.
func TestRegionsByProxies(t *testing.T) {
	t.Parallel()
	for name, prepare := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, dir := pgtest.FreeAddr(t), t.TempDir()
			s := siteAt(t, "http://"+address)
			byHeader := s.ruled(t, regional, "DOOR_REGION_HEADER=CF-IPCountry,CF-Region-Code")
			s.door = s.newDoor(t, byHeader...)
			door := httptest.NewServer(s)
			defer door.Close()
			run(t, dir, address, nil, prepare(t, dir, ports(address, dir, door.URL, upstream(t)))...)
			v := s.visitor(t)
			for country, want := range map[string]string{"JP": "the site at", "GB": "Are you 18 or over?", "DE": "Are you 16 or over?",
				"FR": "Not available", "": "Not available"} {
				if res := v.get("/page", "CF-IPCountry: "+country); !strings.Contains(res.body, want) {
					t.Errorf("from %q: %d %s", country, res.status, res.body)
				}
			}
			file := places(t, map[string][2]string{"203.0.113.0/24": {"JP", ""}, "127.0.0.0/8": {"GB", ""}})
			byAddress := s.ruled(t, regional, "DOOR_REGION_FILE="+file)
			s.door = s.newDoor(t, byAddress...)
			for _, spoof := range []string{"X-Forwarded-For: 203.0.113.9", "X-Real-IP: 203.0.113.9", "Forwarded: for=203.0.113.9",
				"X_Forwarded_For: 203.0.113.9", "CF-IPCountry: JP", "Connection: X-Forwarded-For"} {
				if res := v.get("/page", spoof); !strings.Contains(res.body, "Are you 18 or over?") {
					t.Errorf("%s: %d %s", spoof, res.status, res.body)
				}
			}
		})
	}
}

// TestTableToStartFrom: the guide's example starts, and asks as its laws are read.
func TestTableToStartFrom(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/guides/door/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := startSite(t)
	lines := s.config(t, s.ruled(t, string(text), "DOOR_REGION_HEADER=CF-IPCountry")...).Effect()
	for _, part := range []string{" GB check 18. ", " FR block. ", " IT block. ", " DE check 18 document. ", " BR check 18 document. ",
		" US-TX check 18 document. ", " US- check 18 document. ", " * check 18. ", " unknown block."} {
		if !strings.Contains(lines[len(lines)-1], part) {
			t.Errorf("lacks %q: %s", part, lines[len(lines)-1])
		}
	}
}
