package door

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const documentSecret = "rdsec_test_HxweHRscGxoZGBcWFRQTEhEQDw4NDAsKCQgHBgUEAwI="

func table(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRegions: a row for the state, or else the country, or else all others. Where the
// region is not known, the strictest rule holds, and of a country, its strictest.
func TestRegions(t *testing.T) {
	t.Parallel()
	const open = "# comment\nGB,DE check 18\n\nUS check 16 # of states without a law\nUS-TX check 21 document\nJP\tfree\n* check 13\n"
	variables := map[string]string{"DOOR_REGION_HEADER": "CF-IPCountry, CF-Region-Code",
		"DOOR_DOCUMENT_API_KEY": testKey, "DOOR_DOCUMENT_REDIRECT_SECRET": documentSecret}
	for _, tt := range []struct{ table, remote, country, state, want string }{
		{open, "127.0.0.1:1", "GB", "", "check 18"},
		{open, "127.0.0.1:1", "gb", "ENG", "check 18"},
		{open, "127.0.0.1:1", "DE", "", "check 18"},
		{open, "127.0.0.1:1", "JP", "", "free"},
		{open, "127.0.0.1:1", "BR", "SP", "check 13"},
		{open, "127.0.0.1:1", "US", "TX", "check 21 document"},
		{open, "127.0.0.1:1", "US", "US-TX", "check 21 document"},
		{open, "127.0.0.1:1", "US", "CA", "check 16"},
		{open, "127.0.0.1:1", "US", "", "check 21 document"},
		{open, "127.0.0.1:1", "US", "Texas", "check 21 document"},
		{open, "127.0.0.1:1", "", "", "check 21 document"},
		{open, "127.0.0.1:1", "XX", "", "check 21 document"},
		{open, "127.0.0.1:1", "T1", "", "check 21 document"},
		{open, "127.0.0.1:1", "EU", "", "check 21 document"},
		{open, "127.0.0.1:1", "JP, GB", "", "check 21 document"},
		{open, "127.0.0.1:1", "*", "", "check 21 document"},
		{open, "127.0.0.1:1", "unknown", "", "check 21 document"},
		{open, "198.51.100.1:1", "JP", "", "check 21 document"}, // no proxy of ours
		{"US-TX check 18\nJP free", "127.0.0.1:1", "BR", "", "check 18"},
		{"US-TX check 18\nUS free\nFR block", "127.0.0.1:1", "US", "", "check 18"},
		{"US-TX check 18\n* check 16 document\nFR block", "127.0.0.1:1", "US", "", "check 18 document"},
		{"GB check 18\nFR,IT block\n* free", "127.0.0.1:1", "", "", "block"},
		{"GB check 18\nFR,IT block\n* free", "127.0.0.1:1", "IT", "", "block"},
	} {
		variables["DOOR_RULES"] = table(t, tt.table)
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = tt.remote
		r.Header.Set("CF-IPCountry", tt.country)
		r.Header.Set("CF-Region-Code", tt.state)
		cfg := newTestDoor(t, variables).cfg
		if got := cfg.demandOf(r).String(); got != tt.want {
			t.Errorf("%q, %s %s from %s: %s, want %s", tt.table, tt.country, tt.state, tt.remote, got, tt.want)
		}
	}
	variables["DOOR_RULES"] = table(t, open)
	d := newTestDoor(t, variables)
	twice := httptest.NewRequest(http.MethodGet, "/", nil)
	twice.RemoteAddr = "127.0.0.1:1"
	twice.Header["Cf-Ipcountry"] = []string{"JP", "GB"} // a visitor's and the CDN's
	if got := d.cfg.demandOf(twice).String(); got != "check 21 document" {
		t.Errorf("two countries at once: %s", got)
	}
	want := "DOOR_RULES: * check 13. DE check 18. GB check 18. JP free. US check 16. US- check 21 document. " +
		"US-TX check 21 document. unknown check 21 document."
	if lines := d.cfg.Effect(); !slices.Contains(lines, want) {
		t.Errorf("lacks %q:\n%s", want, strings.Join(lines, "\n"))
	}
}

// TestRegionsRefused: a table that cannot match, and one without a region or a key.
func TestRegionsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing", "UK check 18", "gb check 18", "GB", "GB check", "GB check 12", "GB check 18 camera",
		"GB check 018", "GB block 18", "GB allow", "GB check 18\nGB free", "GB,GB check 18", "GB, DE check 18", "US-TEXAS check 18",
		"XX check 18", "EU check 18", "USA check 18", "** free", "unknown free", "US- free"} {
		_, err := Load(settings(map[string]string{"DOOR_RULES": table(t, text), "DOOR_REGION_HEADER": "CF-IPCountry"}))
		if err == nil || !strings.Contains(err.Error(), "DOOR_RULES") {
			t.Errorf("%q: %v", text, err)
		}
	}
	good, bad := table(t, "GB check 18"), table(t, "no MMDB")
	paper := table(t, "GB check 18\nUS check 18 document")
	for name, row := range map[string]map[string]string{
		"DOOR_RULES needs": {"DOOR_RULES": good}, "a table": {"DOOR_REGION_HEADER": "CF-IPCountry"},
		"either":           {"DOOR_RULES": good, "DOOR_REGION_HEADER": "CF-IPCountry", "DOOR_REGION_FILE": bad},
		"or two":           {"DOOR_RULES": good, "DOOR_REGION_HEADER": "A, B, C"},
		"DOOR_REGION_FILE": {"DOOR_RULES": good, "DOOR_REGION_FILE": bad},
		"DOOR_DOCUMENT_API_KEY": {"DOOR_RULES": paper, "DOOR_REGION_HEADER": "CF-IPCountry",
			"DOOR_DOCUMENT_REDIRECT_SECRET": documentSecret},
		"DOOR_DOCUMENT_REDIRECT_SECRET": {"DOOR_RULES": paper, "DOOR_REGION_HEADER": "CF-IPCountry",
			"DOOR_DOCUMENT_API_KEY": testKey},
		"of the same mode": {"DOOR_RULES": paper, "DOOR_REGION_HEADER": "CF-IPCountry",
			"DOOR_DOCUMENT_API_KEY":         strings.Replace(testKey, "test", "live", 1),
			"DOOR_DOCUMENT_REDIRECT_SECRET": strings.Replace(documentSecret, "test", "live", 1)},
	} {
		if _, err := Load(settings(row)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
