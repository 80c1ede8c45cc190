package reference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"agegate"
	"agegate/gen"
	"agegate/internal/pages/page"
)

// reading are the methods of all routes here. Some load balancers and link
// checkers use HEAD.
var reading = []string{http.MethodGet, http.MethodHead}

// mountDocuments serves what tools read: the contract in OpenAPI 3.1 and 3.0,
// with baseURL as its server, and the workflows in Arazzo.
func mountDocuments(e *echo.Echo, baseURL string) error {
	for name, source := range map[string][]byte{"/openapi": agegate.OpenAPI, "/openapi-3.0": gen.OpenAPI30} {
		asYAML, err := withServer(source, baseURL)
		if err != nil {
			return fmt.Errorf("reference: %s: %w", name, err)
		}
		asJSON, err := toJSON(asYAML)
		if err != nil {
			return fmt.Errorf("reference: %s: %w", name, err)
		}
		e.Match(reading, name+".yaml", document("application/yaml; charset=utf-8", asYAML))
		e.Match(reading, name+".json", document("application/json", asJSON))
	}
	workflows, err := agegate.Docs.ReadFile("docs/arazzo.yaml")
	if err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	// The contract is one folder up in the repository, but in the same folder
	// here.
	workflows = bytes.ReplaceAll(workflows, []byte("url: ../openapi.yaml"), []byte("url: ./openapi.yaml"))
	e.Match(reading, "/arazzo.yaml", document("application/yaml; charset=utf-8", workflows))
	return nil
}

// document serves a public file. Scripts of other origins may read it, because
// tools run on their own origins.
func document(contentType string, data []byte) echo.HandlerFunc {
	serve := page.Packed(contentType, data)
	return func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderAccessControlAllowOrigin, "*")
		return serve(c)
	}
}

// withServer replaces the server in the text of a document, which keeps its
// order and comments.
func withServer(document []byte, baseURL string) ([]byte, error) {
	const placeholder = "\n  - url: /\n"
	if bytes.Count(document, []byte(placeholder)) != 1 {
		return nil, errors.New("the document does not have exactly one server '/'")
	}
	quoted, err := json.Marshal(baseURL) // a JSON string is a YAML string
	if err != nil {
		return nil, err
	}
	return bytes.Replace(document, []byte(placeholder), fmt.Appendf(nil, "\n  - url: %s\n", quoted), 1), nil
}

// toJSON keeps the order, because importers take the first example.
func toJSON(document []byte) ([]byte, error) {
	doc, err := readNode(document)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = writeJSON(&out, doc.at)
	return out.Bytes(), err
}
