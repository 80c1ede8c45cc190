package insight_test

import (
	"testing"

	"github.com/google/uuid"

	"agegate/internal/backoffice/insight"
)

// TestFollowing: the upper bound of a search by the beginning of an ID lies after
// the last ID with that beginning, even if a single digit is missing.
func TestFollowing(t *testing.T) {
	for id, want := range map[string]string{
		"01a205e8-0f73-746a-b435-6b058caa135f": "01a205e8-0f73-746a-b435-6b058caa1360",
		"01a205e8-ffff-ffff-ffff-ffffffffffff": "01a205e9-0000-0000-0000-000000000000",
	} {
		if got := insight.Following(uuid.MustParse(id)).String(); got != want {
			t.Errorf("after %s comes %s, want %s", id, got, want)
		}
	}
}
