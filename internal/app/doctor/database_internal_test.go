package doctor

import (
	"strings"
	"testing"

	"agegate/internal/app/config"
)

// TestDiskFindings: doctor warns while a disk still has some room, and never looks at another machine's disk.
func TestDiskFindings(t *testing.T) {
	for _, tt := range []struct {
		limit float64
		url   string
		want  int
	}{{1, "sqlite:" + t.TempDir() + "/agegate.db", 0}, {1 << 62, "sqlite:" + t.TempDir() + "/agegate.db", 1},
		{1 << 62, "postgres://db/agegate", 0}} {
		found, err := diskFindings(tt.limit)(t.Context(), facts{cfg: config.Config{DatabaseURL: tt.url}})
		if err != nil || len(found) != tt.want {
			t.Fatalf("%v: %v, %v", tt, found, err)
		}
		for _, f := range found {
			if !named(f) || !strings.Contains(f.Found, "MB are left") {
				t.Errorf("it says %+v", f)
			}
		}
	}
}
