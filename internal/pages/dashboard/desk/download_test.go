package desk

import (
	"testing"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// Each tenant can have one download at a time, and their total is limited.
func TestDownloadsAreBounded(t *testing.T) {
	var d downloads
	busy := func(id uuid.UUID) bool {
		end, err := d.begin(id)
		if err == nil {
			end()
		}
		refused, ok := err.(*fault.Error)
		return ok && refused.Code == fault.Unavailable && refused.RetryAfter > 0
	}
	var ends []func()
	tenants := make([]uuid.UUID, maxDownloads)
	for i := range tenants {
		tenants[i] = uuid.New()
		end, err := d.begin(tenants[i])
		if err != nil || !busy(tenants[i]) {
			t.Fatalf("download %d: %v", i+1, err)
		}
		ends = append(ends, end)
	}
	if !busy(uuid.New()) {
		t.Error("there is no limit for all tenants together")
	}
	ends[0]()
	ends[0]()
	if busy(tenants[0]) || busy(uuid.New()) || !busy(tenants[1]) {
		t.Error("a place that was given back is not free, or another is")
	}
}
