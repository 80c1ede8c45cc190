package desk

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"agegate/internal/rules/fault"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// A download may take longer than a request, but each batch has a time limit for reading and for sending.
const (
	ReadBatch = 5 * time.Second
	sendBatch = 15 * time.Second
)

// maxDownloads is how many downloads a process serves at the same time; each tenant may have one.
const maxDownloads = 8

// downloads are the downloads under way.
type downloads struct {
	mu      sync.Mutex
	tenants map[uuid.UUID]bool
}

// begin counts a download of a tenant as under way until the caller calls the returned
// function. It returns fault.TooMany if the tenant already has a download under way, and
// fault.Unavailable if the process already serves maxDownloads.
func (d *downloads) begin(tenantID uuid.UUID) (func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.tenants[tenantID]:
		return nil, fault.New(fault.TooMany, "Another download is under way").After(sendBatch)
	case len(d.tenants) >= maxDownloads:
		return nil, fault.New(fault.Unavailable, "Too many downloads are under way").After(sendBatch)
	}
	if d.tenants == nil {
		d.tenants = map[uuid.UUID]bool{}
	}
	d.tenants[tenantID] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.tenants, tenantID)
	}, nil
}

// BeginDownload counts a download of the request's tenant as under way until the caller
// calls end. It returns fault.TooMany if the tenant already has a download under way, and
// fault.Unavailable if the process already serves as many as it may.
func (r *Request) BeginDownload() (end func(), err error) {
	return r.desk.downloads.begin(r.Access.TenantID())
}

// Download writes a file of any length, or for HEAD only its headers. An error before anything was sent is answered
// as usual. A later error ends the connection, so that browsers do not accept a partial file as complete.
func (r *Request) Download(contentType, name string, fill func(ctx context.Context, w io.Writer) error) error {
	head := r.Request().Method == http.MethodHead
	if !head {
		end, err := r.BeginDownload()
		if err != nil {
			return err
		}
		defer end()
	}
	header := r.Response().Header()
	header.Set(echo.HeaderContentType, contentType)
	header.Set(echo.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	if head {
		return r.NoContent(http.StatusOK)
	}
	w := bufio.NewWriterSize(&patientWriter{r.Response(), http.NewResponseController(r.Response())}, 32<<10)
	// The deadline of the request is not used, because it is meant for pages. A client that
	// goes later than that ends the work by the next write.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Ctx()))
	defer cancel()
	defer context.AfterFunc(r.Ctx(), func() {
		if errors.Is(r.Ctx().Err(), context.Canceled) {
			cancel()
		}
	})()
	err := fill(ctx, w)
	if err == nil {
		err = w.Flush()
	}
	switch {
	case err == nil && !r.Response().Committed:
		return r.NoContent(http.StatusOK)
	case err != nil && !r.Response().Committed:
		header.Del(echo.HeaderContentDisposition)
		header.Del(echo.HeaderContentType) // echo does not replace a type that is set
		return err
	case err != nil:
		panic(http.ErrAbortHandler)
	}
	return nil
}

// patientWriter gives every write its own deadline.
type patientWriter struct {
	io.Writer
	conn *http.ResponseController
}

func (w *patientWriter) Write(p []byte) (int, error) {
	if err := w.conn.SetWriteDeadline(time.Now().Add(sendBatch)); err != nil {
		return 0, err
	}
	n, err := w.Writer.Write(p)
	if err != nil {
		return n, err
	}
	return n, w.conn.Flush()
}
