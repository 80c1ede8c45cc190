package databases

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/app/doctor"
	"agegate/internal/rules/credential"
	"agegate/internal/store/pgtest"
)

// TestDoctor covers the findings of `agegate doctor` about a database that is a
// replica or behind a pooler.
func TestDoctor(t *testing.T) {
	for _, tt := range []struct {
		name, url string
		grade     doctor.Grade
		text      string
	}{
		{"a replica", pgtest.ReplicaURL(t), doctor.Problem, "read-only replica"},
		{"a pooler", pgtest.NewPooler(t).URL(t), doctor.OK, "through a pooler"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var found []doctor.Finding
			for _, f := range examine(t, tt.url) {
				if f.Check == "database" {
					found = append(found, f)
				}
			}
			if len(found) != 1 || found[0].Grade != tt.grade || !strings.Contains(found[0].Found, tt.text) {
				t.Errorf("%+v, want %s: %s", found, tt.grade, tt.text)
			}
		})
	}
}

// examine makes all examinations of an installation with a database.
func examine(t *testing.T, url string) (found []doctor.Finding) {
	t.Helper()
	env := map[string]string{
		"AGEGATE_SECRET_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "AGEGATE_ESTIMATOR": "off",
		"AGEGATE_DATABASE_URL": url,
	}
	cfg, err := config.Load(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := credential.NewSealer(cfg.SecretKey, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	doctor.Examine(t.Context(), doctor.Options{
		Config: cfg, Sealer: sealer, Now: func() time.Time { return time.Now().UTC() },
		Timeout: time.Minute, Tell: func(f doctor.Finding) { found = append(found, f) }, Progress: func(string) {},
	})
	return found
}
