package desk

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/labstack/echo/v4"
)

// TestUploadThatIsTooSlow: a file that does not arrive in time is reported as too
// large, not as a request from another site.
func TestUploadThatIsTooSlow(t *testing.T) {
	sent := io.MultiReader(strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"logo\"\r\n\r\nPNG"),
		iotest.ErrReader(os.ErrDeadlineExceeded))
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", sent)
	req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	if _, err := readUpload(req, "logo", 9); !errors.Is(err, echo.ErrStatusRequestEntityTooLarge) {
		t.Errorf("%v", err)
	}
}
