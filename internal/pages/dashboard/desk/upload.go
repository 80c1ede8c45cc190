package desk

import (
	"encoding/base64"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"

	"github.com/labstack/echo/v4"
)

// keptSuffix ends the name of a hidden field with the file of another field, in base64. A page that shows a
// form again writes it, because a browser forgets the file.
const keptSuffix = "_kept"

// readUpload parses a multipart form and returns the first limit bytes of a field's file, of a file that was kept if
// none is sent now, or nil. It reads a longer file to its end, so that the fields after it are not lost.
func readUpload(req *http.Request, field string, limit int64) (upload []byte, err error) {
	parts, err := req.MultipartReader()
	if errors.Is(err, http.ErrNotMultipart) {
		return nil, nil // a form without a file
	}
	typed, room := url.Values{}, int64(maxForm)
	for err == nil {
		var part *multipart.Part
		if part, err = parts.NextPart(); err != nil {
			break
		}
		var value []byte
		switch part.FormName() {
		case field:
			if value, err = io.ReadAll(io.LimitReader(part, limit)); len(value) > 0 {
				upload = value
			}
			continue
		case field + keptSuffix:
			value, err = io.ReadAll(io.LimitReader(base64.NewDecoder(base64.StdEncoding, part), limit))
			if len(upload) == 0 {
				upload = value
			}
			continue
		}
		value, err = io.ReadAll(http.MaxBytesReader(nil, part, room))
		room -= int64(len(value))
		typed.Add(part.FormName(), string(value))
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)), errors.Is(err, os.ErrDeadlineExceeded): // did not arrive in time
		return nil, echo.ErrStatusRequestEntityTooLarge
	case !errors.Is(err, io.EOF):
		return nil, echo.ErrBadRequest
	}
	req.PostForm = typed
	return upload, nil
}
