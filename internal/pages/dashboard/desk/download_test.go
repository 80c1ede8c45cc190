package desk

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// Each tenant can have one download at a time, and their total is limited.
func TestDownloadsAreBounded(t *testing.T) {
	var d downloads
	refused := func(id uuid.UUID) fault.Code {
		end, err := d.begin(id)
		if err == nil {
			end()
		}
		if refused, ok := err.(*fault.Error); ok && refused.RetryAfter > 0 {
			return refused.Code
		}
		return ""
	}
	var ends []func()
	tenants := make([]uuid.UUID, maxDownloads)
	for i := range tenants {
		tenants[i] = uuid.New()
		end, err := d.begin(tenants[i])
		if err != nil || refused(tenants[i]) != fault.TooMany {
			t.Fatalf("download %d: %v", i+1, err)
		}
		ends = append(ends, end)
	}
	if refused(uuid.New()) != fault.Unavailable {
		t.Error("there is no limit for all tenants together")
	}
	ends[0]()
	ends[0]()
	if refused(tenants[0]) != "" || refused(uuid.New()) != "" || refused(tenants[1]) != fault.TooMany {
		t.Error("a place that was given back is not free, or another is")
	}
}

// HEAD answers as the download would, computes nothing and takes no place: a client
// does not wait for its end.
func TestHeadTakesNoPlace(t *testing.T) {
	d := &Desk{}
	end, err := d.downloads.begin(uuid.Nil)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	w := httptest.NewRecorder()
	r := &Request{Context: echo.New().NewContext(httptest.NewRequest(http.MethodHead, "/", nil), w), desk: d}
	err = r.Download("text/csv", "all.csv", func(context.Context, io.Writer) error { panic("a body for HEAD") })
	if err != nil || w.Code != http.StatusOK || w.Header().Get("Content-Disposition") != `attachment; filename="all.csv"` {
		t.Errorf("HEAD: %d %v, %v", w.Code, w.Header(), err)
	}
}

// TestDownloadEndsWithItsRequest: a client that goes ends the work for its file; the
// deadline for pages does not.
func TestDownloadEndsWithItsRequest(t *testing.T) {
	for _, goes := range []bool{true, false} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		r := &Request{Context: echo.New().NewContext(request, httptest.NewRecorder()), desk: &Desk{}}
		var ended error
		_ = r.Download("text/csv", "all.csv", func(work context.Context, _ io.Writer) error {
			if goes {
				cancel()
			}
			<-ctx.Done()
			select {
			case <-work.Done():
				ended = work.Err()
			case <-time.After(100 * time.Millisecond):
			}
			return ended
		})
		cancel()
		if (ended != nil) != goes {
			t.Errorf("the client goes: %v; the work ends with %v", goes, ended)
		}
	}
}
