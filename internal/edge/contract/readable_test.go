package contract

import (
	"bytes"
	"strings"
	"testing"

	"agegate"
	"agegate/gen"
)

// Each schema says what it is, each value has an example that is valid, each
// operation and delivery has a tag, and a creation's answer leads to what takes
// its session.
func TestTheDocumentExplainsItself(t *testing.T) {
	for edition, data := range map[string][]byte{"3.1": agegate.OpenAPI, "3.0": gen.OpenAPI30} {
		doc, err := Read(data)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("*/")) { // generators put texts into comments as they are
			t.Errorf("%s: a text ends the comment of a client", edition)
		}
		for name, schema := range doc.Components.Schemas {
			if schema.Value.Description == "" {
				t.Errorf("%s: %s has no description", edition, name)
			}
			for field, property := range schema.Value.Properties {
				value := property.Value
				if value.Description == "" {
					t.Errorf("%s: %s.%s has no description", edition, name, field)
				}
				if value.Type.Permits("object") || value.Type.Permits("array") || value.OneOf != nil {
					continue
				}
				if value.Example == nil {
					t.Errorf("%s: %s.%s has no example", edition, name, field)
				}
				checkExample(t, edition+" "+name+"."+field, value, value.Example)
			}
		}
		for path, item := range doc.Webhooks {
			for _, op := range item.Operations() {
				if len(op.Tags) != 1 {
					t.Errorf("%s: the webhook %s has tags %v", edition, path, op.Tags)
				}
			}
		}
		links := doc.Paths.Value("/api/v1/sessions/create").Post.Responses.Value("201").Value.Links
		for path, item := range doc.Paths.Map() {
			for _, op := range item.Operations() {
				if len(op.Tags) != 1 {
					t.Errorf("%s: the operation %s has tags %v", edition, op.OperationID, op.Tags)
				}
				linked := false
				for _, link := range links {
					linked = linked || link.Value.OperationID == op.OperationID
				}
				if takes := strings.Contains(path, "{session_id}"); takes && !linked {
					t.Errorf("%s: the creation has no link to %s", edition, op.OperationID)
				}
			}
		}
	}
}
