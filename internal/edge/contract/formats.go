package contract

import (
	"errors"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
)

// formats are the string formats that the guard enforces. Their errors are fixed
// texts, because the validator repeats them.
var formats = map[string]openapi3.StringFormatValidator{
	"uuid": openapi3.NewCallbackValidator(checkUUID),
	"uri":  openapi3.NewCallbackValidator(checkURI),
}

// checkUUID accepts only the 36-character form, in either case. The parser
// alone would also take URNs, braces and 32 bare digits.
func checkUUID(s string) error {
	if len(s) != 36 || uuid.Validate(s) != nil {
		return errors.New("not a UUID")
	}
	return nil
}

// checkURI accepts an absolute URI without control characters, spaces or
// backslashes. The domain decides which schemes and hosts are allowed.
func checkURI(s string) error {
	u, err := url.Parse(s)
	if err != nil || !u.IsAbs() || strings.ContainsFunc(s, notInURI) {
		return errors.New("not a URI")
	}
	return nil
}

func notInURI(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f && r <= 0x9f }
