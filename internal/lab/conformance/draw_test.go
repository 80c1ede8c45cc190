package conformance

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// newDrawing returns a drawing from the real contract.
func newDrawing(t *testing.T, seed uint64) drawing {
	t.Helper()
	c, err := readContract()
	if err != nil {
		t.Fatal(err)
	}
	schema := c.operation(createSession).RequestBody.Value.Content["application/json"].Schema.Value
	return drawing{rand.New(rand.NewPCG(seed, 0)), schema, "https://shop.example/"}
}

// TestDraws: values drawn as valid fit the schema, and values drawn as invalid do
// not; the same holds for session IDs.
func TestDraws(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := newDrawing(t, rapid.Uint64().Draw(r, "seed"))
		check := func(body map[string]any) []string {
			var value any
			if err := json.Unmarshal([]byte(d.encode(body)), &value); err != nil {
				t.Fatal(err)
			}
			return schemaProblems(d.schema, value)
		}
		if body := d.valid(); len(check(body)) > 0 {
			t.Fatalf("drawn as valid: %v breaks the schema: %v", body, check(body))
		}
		body, want := d.invalid()
		if len(want) == 0 || len(check(body)) == 0 {
			t.Fatalf("drawn as invalid, with %v: %v satisfies the schema", want, body)
		}
		id := d.uuid()
		if !uuidPattern.MatchString(id) || uuidPattern.MatchString(d.damaged(id)) {
			t.Fatalf("%s is no UUID, or still one when damaged", id)
		}
	})
}
