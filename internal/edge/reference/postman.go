package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// postmanStep is a request of the Postman collection: an operation, with the
// example of its body and a query. The order lets each use what those before it
// have answered.
type postmanStep struct{ operation, example, query string }

// openPage is the step that is no operation: the browser's visit of the hosted
// page, which ends the session.
const openPage = "hosted page"

var postmanSteps = []postmanStep{
	{"createSession", "minimal", ""},
	{"getSessionStatus", "", ""},
	{"getDetectedAge", "", ""},
	{"moveTestClock", "redirect", ""},
	{openPage, "", ""},
	{"listTestEvents", "", "?session_id={{session_id}}"},
	{"resendTestEvent", "", ""},
}

// The parts of a collection, in the format 2.1.0.
type (
	postmanCollection struct {
		Info      map[string]string `json:"info"`
		Auth      postmanAuth       `json:"auth"`
		Variables []postmanPair     `json:"variable"`
		Items     []postmanItem     `json:"item"`
	}
	postmanAuth struct {
		Type   string        `json:"type"`
		APIKey []postmanPair `json:"apikey,omitempty"`
	}
	postmanPair struct {
		Key   string `json:"key"`
		Value string `json:"value"`
		Type  string `json:"type,omitempty"`
	}
	postmanItem struct {
		Name     string          `json:"name"`
		Request  postmanRequest  `json:"request"`
		Events   []postmanEvent  `json:"event"`
		Behavior map[string]bool `json:"protocolProfileBehavior,omitempty"`
	}
	postmanRequest struct {
		Method      string        `json:"method"`
		URL         string        `json:"url"`
		Description string        `json:"description"`
		Auth        *postmanAuth  `json:"auth,omitempty"`
		Header      []postmanPair `json:"header"`
		Body        *postmanBody  `json:"body,omitempty"`
	}
	postmanBody struct {
		Mode string `json:"mode"`
		Raw  string `json:"raw"`
	}
	postmanEvent struct {
		Listen string        `json:"listen"`
		Script postmanScript `json:"script"`
	}
	postmanScript struct {
		Type string   `json:"type"`
		Exec []string `json:"exec"`
	}
)

// postman returns the operations of the contract as a Postman collection that
// runs from the first request to the last with nothing but a test key. It fails
// when an operation has no step.
func postman(contract node, baseURL string) ([]byte, error) {
	found := map[string]postmanItem{openPage: visit()}
	for path, item := range contract.get("paths").pairs() {
		for method, op := range item.pairs() {
			name := op.get("operationId").text()
			step, ok := stepOf(name)
			if !ok {
				return nil, fmt.Errorf("the Postman collection has no step for the operation %q", name)
			}
			read, err := postmanOperation(step, strings.ToUpper(method), path, op)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			found[name] = read
		}
	}
	collection := postmanCollection{
		Info: map[string]string{
			"name":   contract.get("info", "title").text(),
			"schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
			"description": "Set the variable api_key to a test key (svc_test_…) and run the collection: it creates a session, " +
				"lets it pass, and reads its event. Your test mode needs its Success, Cancel and Webhook URLs.",
		},
		Auth: postmanAuth{"apikey", []postmanPair{
			{"key", "X-API-Key", "string"}, {"value", "{{api_key}}", "string"}, {"in", "header", "string"},
		}},
		Variables: []postmanPair{
			{Key: "base_url", Value: baseURL}, {Key: "api_key"}, {Key: "session_id"}, {Key: "verification_url"},
			{Key: "event_id"},
		},
	}
	for _, step := range postmanSteps {
		item, ok := found[step.operation]
		if !ok {
			return nil, fmt.Errorf("the contract has no operation %q", step.operation)
		}
		collection.Items = append(collection.Items, item)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(collection)
	return out.Bytes(), err
}

func stepOf(operation string) (postmanStep, bool) {
	for _, step := range postmanSteps {
		if step.operation == operation {
			return step, true
		}
	}
	return postmanStep{}, false
}

func postmanOperation(step postmanStep, method, path string, op node) (postmanItem, error) {
	item := postmanItem{Name: op.get("summary").text(), Request: postmanRequest{
		Method: method, Description: op.get("description").text(), Header: []postmanPair{},
		URL: "{{base_url}}" + strings.NewReplacer("{", "{{", "}", "}}").Replace(path) + step.query,
	}}
	for p := range op.get("parameters").items() {
		if p.get("name").text() == "Idempotency-Key" { // a new one for each request
			item.Request.Header = append(item.Request.Header, postmanPair{Key: "Idempotency-Key", Value: "{{$guid}}"})
		}
	}
	if step.example != "" {
		body, err := op.get("requestBody", "content", "application/json", "examples", step.example, "value").json()
		if err != nil {
			return item, err
		}
		item.Request.Header = append(item.Request.Header, postmanPair{Key: "Content-Type", Value: "application/json"})
		item.Request.Body = &postmanBody{"raw", body}
	}
	for status := range op.get("responses").pairs() {
		if strings.HasPrefix(status, "2") {
			item.Events = postmanTest(status,
				"const answer = pm.response.json();",
				"const found = Array.isArray(answer.events) ? answer.events[0] || {} : answer;",
				`for (const name of ["session_id", "verification_url", "event_id"]) {`,
				"  if (found[name]) pm.collectionVariables.set(name, found[name]);",
				"}")
		}
	}
	return item, nil
}

// visit opens the hosted page with the outcome that a test session may be given.
// The redirect leads to the shop and is not followed.
func visit() postmanItem {
	return postmanItem{
		Name: "Open the hosted page, as the shopper's browser does",
		Request: postmanRequest{
			Method: "GET", URL: "{{verification_url}}?force=verified", Auth: &postmanAuth{Type: "noauth"},
			Header:      []postmanPair{},
			Description: "Lets the test session pass without a camera. The answer redirects to your Success URL.",
		},
		Events:   postmanTest("303"),
		Behavior: map[string]bool{"followRedirects": false},
	}
}

// postmanTest requires a status, and then runs further lines.
func postmanTest(status string, lines ...string) []postmanEvent {
	exec := append([]string{fmt.Sprintf(`pm.test("answers %s", () => pm.response.to.have.status(%s));`, status, status)},
		lines...)
	return []postmanEvent{{"test", postmanScript{"text/javascript", exec}}}
}
