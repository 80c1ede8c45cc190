package conformance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate"

	"github.com/getkin/kin-openapi/openapi3"
)

// Operations of the contract, by their IDs.
const (
	createSession    = "createSession"
	getSessionStatus = "getSessionStatus"
	getDetectedAge   = "getDetectedAge"
	listTestEvents   = "listTestEvents"
	resendTestEvent  = "resendTestEvent"
	moveTestClock    = "moveTestClock"
)

// operation is one operation of the contract.
type operation struct {
	id, method, path string
	*openapi3.Operation
}

// contract is the published document, and a record of which of its parts have
// been seen in answers.
type contract struct {
	doc        *openapi3.T
	operations []operation
	seen       map[string]int // by operation and status, and by operation, status and example
}

// readContract reads the document built into this program.
func readContract() (*contract, error) {
	doc, err := openapi3.NewLoader().LoadFromData(agegate.OpenAPI)
	if err != nil {
		return nil, err
	}
	c := &contract{doc: doc, seen: map[string]int{}}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			c.operations = append(c.operations, operation{op.OperationID, method, path, op})
		}
	}
	slices.SortFunc(c.operations, func(a, b operation) int { return strings.Compare(a.id, b.id) })
	return c, nil
}

func (c *contract) operation(id string) operation {
	i := slices.IndexFunc(c.operations, func(o operation) bool { return o.id == id })
	return c.operations[i] // this package uses only known IDs
}

// visit holds the options of every validation. Errors contain neither the schema
// nor the value.
var visit = []openapi3.SchemaValidationOption{
	openapi3.MultiErrors(), openapi3.VisitAsResponse(), openapi3.DisableSchemaErrorDetails(),
	openapi3.WithStringFormatValidators(map[string]openapi3.StringFormatValidator{
		"uuid":      openapi3.NewCallbackValidator(checkUUID),
		"date-time": openapi3.NewCallbackValidator(checkTime),
		"uri":       openapi3.NewCallbackValidator(checkURI),
	}),
}

var (
	uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	timePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?Z$`)
)

func checkUUID(s string) error {
	if !uuidPattern.MatchString(s) {
		return errors.New("not a UUID in its 36-character form")
	}
	return nil
}

func checkTime(s string) error {
	if _, err := time.Parse(time.RFC3339, s); err != nil || !timePattern.MatchString(s) {
		return errors.New("not RFC 3339 in UTC with a Z and at most six decimals, the last of which is not 0")
	}
	return nil
}

func checkURI(s string) error {
	if u, err := url.Parse(s); err != nil || !u.IsAbs() || u.Host == "" {
		return errors.New("not an absolute URL")
	}
	return nil
}

// check returns what is wrong with an answer to an operation. It records the
// answer's status as seen, and the examples that the answer equals.
func (c *contract) check(id string, got answer) (problems []string) {
	op := c.operation(id)
	status := strconv.Itoa(got.status)
	response := op.Responses.Value(status)
	if got.status == http.StatusBadRequest { // the contract does not list this status, but covers it by "default"
		status, response = otherStatus, op.Responses.Default()
	}
	if response == nil {
		return []string{fmt.Sprintf("the status %s is not documented", status)}
	}
	c.seen[id+" "+status]++
	for _, name := range slices.Sorted(maps.Keys(response.Value.Headers)) {
		problems = append(problems, checkHeader(name, response.Value.Headers[name].Value, got.header.Values(name))...)
	}
	media, body, wrong := checkContent(response.Value.Content, got.header, got.body)
	if media != nil {
		for name, example := range media.Examples {
			if equalJSON(example.Value.Value, body) {
				c.seen[id+" "+status+" "+name]++
			}
		}
	}
	return append(problems, wrong...)
}

// checkContent returns the documented content of a message, its decoded body, and what is
// wrong with it. Without documented content the first is nil.
func checkContent(
	content openapi3.Content, header http.Header, text []byte,
) (media *openapi3.MediaType, body any, problems []string) {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if media = content[kind]; err != nil || media == nil {
		return nil, nil, []string{fmt.Sprintf("the Content-Type %q is not documented", header.Get("Content-Type"))}
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, nil, []string{"the body is not JSON"}
	}
	for _, p := range schemaProblems(media.Schema.Value, body) {
		problems = append(problems, "the body "+p)
	}
	return media, body, problems
}

func checkHeader(name string, header *openapi3.Header, values []string) []string {
	switch {
	case len(values) == 0 && header.Required:
		return []string{"the header " + name + " is missing"}
	case len(values) == 0:
		return nil
	case len(values) > 1:
		return []string{"the header " + name + " is given twice"}
	}
	var value any = values[0] // one that is not of the schema's type stays a string, which the schema then refuses
	schema := header.Schema.Value
	if n, err := strconv.ParseInt(values[0], 10, 64); err == nil && schema.Type.Is(openapi3.TypeInteger) {
		value = float64(n)
	} else if schema.Type.Is(openapi3.TypeBoolean) && (value == "true" || value == "false") {
		value = value == "true"
	}
	problems := schemaProblems(schema, value)
	for i, p := range problems {
		problems[i] = "the header " + name + " " + p
	}
	return problems
}

// schemaProblems returns how a value breaks a schema, without the value.
func schemaProblems(schema *openapi3.Schema, value any) []string {
	err := schema.VisitJSON(value, visit...)
	if err == nil {
		return nil
	}
	var list openapi3.MultiError
	if !errors.As(err, &list) {
		list = openapi3.MultiError{err}
	}
	problems := make([]string, 0, len(list))
	for _, e := range list {
		text, _, _ := strings.Cut(e.Error(), "\n")
		problems = append(problems, "breaks its schema: "+text)
	}
	return problems
}

// equalJSON compares a value from the document with a decoded one.
func equalJSON(want, got any) bool {
	data, err := json.Marshal(want)
	if err != nil {
		return false
	}
	var plain any
	return json.Unmarshal(data, &plain) == nil && reflect.DeepEqual(plain, got)
}

// example returns an example of a response, as JSON, by its status and name.
func (c *contract) example(id, example string) any {
	status, name, _ := strings.Cut(example, " ")
	return c.operation(id).Responses.Value(status).Value.Content["application/json"].Examples[name].Value.Value
}

// StatusCount is how often an operation answered with a status.
type StatusCount struct {
	Operation string `json:"operation"`
	Status    string `json:"status"`
	Seen      int    `json:"seen"`
	Why       string `json:"why,omitempty"` // why it may not have been seen
}

// otherStatus covers every status that an operation does not list.
const otherStatus = "default"

// unseen gives the reasons why a run may not see a status, of one operation or of all.
var unseen = map[string]string{
	createSession + " 402":    needUnpaid.text,
	createSession + " 429":    needCapped.text,
	resendTestEvent + " 429":  "needs 600 changes within an hour, which would fill the tenant's audit log",
	moveTestClock + " 429":    "needs 600 changes within an hour, which would fill the tenant's audit log",
	resendTestEvent + " 409":  "needs a session that was made without a Webhook URL",
	getSessionStatus + " 409": "needs a damaged record, which no client can make",

	"403": needDisabled.text, "500": "no request may cause it", "503": "no request may cause it",
	otherStatus: "needs a request that is not valid HTTP",
}

// ExampleSeen records whether an answer equalled an error example of the
// contract. Examples of successes are not listed, because their IDs and times
// never match.
type ExampleSeen struct {
	Operation string `json:"operation"`
	Status    string `json:"status"`
	Example   string `json:"example"`
	Seen      bool   `json:"seen"`
}

// coverage lists every documented status of every operation, and every error example.
func (c *contract) coverage() (statuses []StatusCount, examples []ExampleSeen) {
	for _, op := range c.operations {
		for _, status := range slices.Sorted(maps.Keys(op.Responses.Map())) {
			key := op.id + " " + status
			count := StatusCount{Operation: op.id, Status: status, Seen: c.seen[key]}
			if count.Seen == 0 {
				count.Why = cmp.Or(unseen[key], unseen[status])
			}
			statuses = append(statuses, count)
			media := op.Responses.Value(status).Value.Content["application/json"]
			if status < "400" || media == nil {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(media.Examples)) {
				examples = append(examples, ExampleSeen{op.id, status, name, c.seen[key+" "+name] > 0})
			}
		}
	}
	return statuses, examples
}

// checkDelivery returns how a delivery breaks the contract.
func (c *contract) checkDelivery(header http.Header, body []byte) (problems []string) {
	op := c.doc.Webhooks["sessionCompleted"].Post
	for _, p := range op.Parameters {
		asHeader := &openapi3.Header{Parameter: openapi3.Parameter{Required: p.Value.Required, Schema: p.Value.Schema}}
		problems = append(problems, checkHeader(p.Value.Name, asHeader, header.Values(p.Value.Name))...)
	}
	_, _, wrong := checkContent(op.RequestBody.Value.Content, header, body)
	return append(problems, wrong...)
}
