package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// randomCases draw requests from the contract's schemas, so that they test new
// fields too. A tenth of the requests are valid and create sessions.
func randomCases(draws int) []testCase {
	valid := draws / 10
	return []testCase{
		{
			Name: "random.valid", Title: "Creations drawn from the contract's schema are accepted", sessions: valid,
			Cites: []string{"openapi.yaml CreateSessionRequest", "SPEC 4.1"},
			run: func(t *trial) {
				d := t.drawing()
				for range valid {
					t.create(creation(d.encode(d.valid())))
				}
			},
		},
		{
			Name: "random.invalid", Title: "Creations that break the contract's schema in random places are 422 at exactly " +
				"these places",
			Cites: []string{"openapi.yaml CreateSessionRequest", "openapi.yaml ValidationError", "SPEC 7"},
			run: func(t *trial) {
				d := t.drawing()
				for range draws {
					body, want := d.invalid()
					t.invalid(creation(d.encode(body)), want...)
				}
			},
		},
		{
			Name: "random.ids", Title: "Session IDs drawn as UUIDs are 404, and those that are damaged 422",
			Cites: []string{"openapi.yaml SessionID", "SPEC 7"},
			run: func(t *trial) {
				d := t.drawing()
				for i := range draws {
					c := call{operation: []string{getSessionStatus, getDetectedAge}[i%2], session: d.uuid()}
					t.expect(c, "404 notFound")
					c.session = d.damaged(c.session)
					t.expect(c, "422 malformed")
				}
			},
		},
	}
}

// drawing draws values from createSession's request schema.
type drawing struct {
	random *rand.Rand
	schema *openapi3.Schema
	base   string // an address on a registered host
}

func (t *trial) drawing() drawing {
	schema := t.contract.operation(createSession).RequestBody.Value.Content["application/json"].Schema.Value
	return drawing{t.random, schema, t.callback("/")}
}

func (d drawing) encode(body map[string]any) string {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings, numbers and lists always encode
	}
	return string(data)
}

// names returns the schema's properties, in a fixed order.
func (d drawing) names() []string { return slices.Sorted(maps.Keys(d.schema.Properties)) }

// valid draws a body that fits the schema.
func (d drawing) valid() map[string]any {
	body := map[string]any{}
	for _, name := range d.names() {
		if slices.Contains(d.schema.Required, name) || d.random.IntN(2) == 0 {
			body[name] = d.value(d.schema.Properties[name].Value)
		}
	}
	return body
}

// value draws a value that fits a property's schema.
func (d drawing) value(s *openapi3.Schema) any {
	if s.Type.Is(openapi3.TypeInteger) {
		low, high := int(*s.Min), int(*s.Max)
		return low + d.random.IntN(high-low+1)
	}
	return d.address(length(s))
}

// length returns the maximum length in a string's schema, in characters. The
// contract limits every string to far less than an int can hold.
func length(s *openapi3.Schema) int { return int(min(*s.MaxLength, 1<<20)) }

// address draws an address on a registered host, with at most limit characters.
func (d drawing) address(limit int) string {
	const letters = "abcXYZ019-._~!$()*,;:@/"
	b := strings.Builder{}
	b.WriteString(d.base)
	for range d.random.IntN(40) {
		i := d.random.IntN(len(letters))
		b.WriteByte(letters[i])
	}
	b.WriteString([]string{"", "?", "?a=1&b", "?q=%C3%A9+x", "?next=https%3A%2F%2Fx.example%2F", "#top"}[d.random.IntN(6)])
	return b.String()[:min(b.Len(), limit)]
}

// invalid draws a body with one to three violations, and returns the violations
// too.
func (d drawing) invalid() (map[string]any, []violation) {
	body := d.valid()
	var want []violation
	names := d.names()
	d.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:d.random.IntN(len(names)+1)] {
		s := d.schema.Properties[name].Value
		if slices.Contains(d.schema.Required, name) && d.random.IntN(4) == 0 {
			delete(body, name)
			want = append(want, at("missing", "body", name))
			continue
		}
		var kind string
		body[name], kind = d.wrong(s)
		want = append(want, at(kind, "body", name))
	}
	if len(want) == 0 || d.random.IntN(3) == 0 {
		name := d.word()
		body[name] = canary
		want = append(want, at("extra_forbidden", "body", name))
	}
	return body, want
}

// wrong draws a value that violates a property's schema, and returns the
// violation's type too.
func (d drawing) wrong(s *openapi3.Schema) (value any, kind string) {
	mistyped := []any{nil, true, []any{canary}, map[string]any{"x": canary}}
	n := d.random.IntN(4 + len(mistyped))
	if s.Type.Is(openapi3.TypeInteger) {
		low, high := *s.Min, *s.Max
		switch n {
		case 0:
			return int64(low) - 1 - d.random.Int64N(1<<40), "greater_than_equal"
		case 1:
			return int64(high) + 1 + d.random.Int64N(1<<40), "less_than_equal"
		case 2:
			return low + 0.5 + float64(d.random.IntN(int(high-low))), "int_from_float"
		case 3:
			return canary + fmt.Sprint(d.random.IntN(100)), "int_type"
		}
		return mistyped[n-4], "int_type"
	}
	limit := length(s)
	switch n {
	case 0:
		return d.address(limit) + strings.Repeat("a", limit), "url_too_long"
	case 1:
		return d.word() + canary, "url_parsing" // relative
	case 2:
		return d.base + "\t" + canary, "url_parsing"
	case 3:
		return d.random.IntN(1000), "string_type"
	}
	return mistyped[n-4], "string_type"
}

// word draws a name that is not in the schema.
func (d drawing) word() string {
	word := make([]byte, 3+d.random.IntN(30))
	for i := range word {
		word[i] = "abcdefghijklmnopqrstuvwxyz"[d.random.IntN(26)]
	}
	return "x" + string(word)
}

func (d drawing) uuid() string {
	return fmt.Sprintf("%08x-%04x-7%03x-8%03x-%012x", d.random.Uint32(), d.random.IntN(1<<16), d.random.IntN(1<<12),
		d.random.IntN(1<<12), d.random.Int64N(1<<48))
}

// damaged draws a string that resembles a UUID and is safe in a path.
func (d drawing) damaged(id string) string {
	i := d.random.IntN(len(id))
	switch d.random.IntN(4) {
	case 0:
		return id[:i] + id[i+1:]
	case 1:
		return id[:i] + "0" + id[i:]
	case 2:
		return id[:i] + "g" + id[i+1:]
	default:
		return strings.ReplaceAll(id, "-", "")
	}
}
