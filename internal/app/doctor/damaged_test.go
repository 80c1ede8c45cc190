package doctor_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agegate/internal/app/doctor"
	"agegate/internal/gatewaytest"
)

// TestDamagedFile: whatever meets the damage, the advice is to restore the backup.
func TestDamagedFile(t *testing.T) {
	db := gatewaytest.SQLite(t)
	start(t, db).Exec(t, "PRAGMA wal_checkpoint(TRUNCATE)")
	whole, err := os.ReadFile(strings.TrimPrefix(db, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]struct{ from, to int }{
		"first page": {100, 4096}, "all but the first": {4096, len(whole)},
		"a text": {0, len(whole)}} {
		path, text := filepath.Join(t.TempDir(), "x.db"), slices.Clone(whole)
		for i := damage.from; i < damage.to; i++ {
			text[i] = 'x'
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		bad := 0
		for _, f := range examine(t, "AGEGATE_DATABASE_URL=sqlite:"+path) {
			if f.Grade == doctor.Problem && (strings.Contains(f.Found, "malformed") ||
				strings.Contains(f.Found, "not a database")) {
				bad++
				if !strings.Contains(f.Advice, "restore the last backup as http://localhost:8080/docs/back-up says") {
					t.Errorf("%s: %+v", name, f)
				}
			}
		}
		if bad == 0 {
			t.Errorf("%s: no finding", name)
		}
	}
}

// TestLooserSettings: doctor warns of settings that let more minors pass or send results in the clear.
func TestLooserSettings(t *testing.T) {
	const margin, callbacks = "AGEGATE_AGE_MARGIN", "AGEGATE_ALLOW_INSECURE_CALLBACKS"
	none := []string{"AGEGATE_DATABASE_URL=sqlite:" + t.TempDir() + "/none.db", callbacks + "=true"}
	for _, f := range examine(t, append(none, margin+"=7")...) {
		if f.Check == margin || f.Check == callbacks {
			t.Errorf("nothing is loosened: %+v", f)
		}
	}
	found := examine(t, append(none, margin+"=6.5", "AGEGATE_BASE_URL=https://gate.invalid")...)
	want(t, found, margin, doctor.Warning, "it is below 7: more minors pass")
	want(t, found, callbacks, doctor.Warning, "over http")
}
