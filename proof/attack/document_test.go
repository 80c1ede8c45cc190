package attack_test

import (
	"strings"
	"testing"
	"time"

	"agegate/internal/check/vision/visiontest"
	"agegate/proof/attack"
)

// TestDocumentRange plays one presentation of each kind of document; make attack
// plays more.
func TestDocumentRange(t *testing.T) {
	rows, err := attack.DocumentRange(t.Context(), visiontest.Pool(t), "", 1, time.Time{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.N != 1 || r.Accepted+r.Spoof+r.Matched+r.NoCapture != r.N {
			t.Errorf("%+v does not add up", r)
		}
		if r.Wrong > 0 {
			t.Errorf("%s: another date was read", r.Species)
		}
		if !r.Beyond && r.Errors() > 0 {
			t.Errorf("%s: %+v", r.Species, r)
		}
	}
	var table strings.Builder
	if err := attack.WriteDocuments(&table, rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !strings.Contains(table.String(), r.Species) {
			t.Errorf("the table lacks %q", r.Species)
		}
	}
}
