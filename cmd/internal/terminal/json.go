package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"agegate/internal/rules/tenant"
)

// JSON writes one JSON object, indented, with hidden characters in its strings escaped.
func JSON(w io.Writer, v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	// Line breaks here come from the encoder; those inside strings are escaped.
	for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if _, err := fmt.Fprintln(w, tenant.Visible(line)); err != nil {
			return err
		}
	}
	return nil
}
