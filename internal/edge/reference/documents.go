package reference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"agegate"
	"agegate/gen"
	"agegate/internal/pages/page"
)

// reading holds the methods of all routes here: some load balancers and link checkers use HEAD.
var reading = []string{http.MethodGet, http.MethodHead}

// mountDocuments serves what tools read: the contract in OpenAPI 3.1 and 3.0,
// with baseURL as its server, and the workflows in Arazzo.
func mountDocuments(e *echo.Echo, baseURL string) {
	for name, source := range map[string][]byte{"/openapi": agegate.OpenAPI, "/openapi-3.0": gen.OpenAPI30} {
		asYAML := func() ([]byte, error) { return withServer(source, baseURL) }
		asJSON := func() ([]byte, error) {
			document, err := asYAML()
			if err != nil {
				return nil, err
			}
			doc, err := readNode(document)
			if err != nil {
				return nil, err
			}
			var out bytes.Buffer
			err = writeJSON(&out, doc.at) // in the document's order, because importers take the first example
			return out.Bytes(), err
		}
		e.Match(reading, name+".yaml", onDemand("application/yaml; charset=utf-8", asYAML))
		e.Match(reading, name+".json", onDemand("application/json", asJSON))
	}
	e.Match(reading, "/arazzo.yaml", onDemand("application/yaml; charset=utf-8", workflows))
	mountFiles(e, attachments(), guidesFolder, "text/plain; charset=utf-8")
	mountFiles(e, filesLike("docs/pictures/*"), "docs/", "image/svg+xml") // of guides, at relative addresses
}

const guidesFolder = "docs/guides/"

// attachments are the files in subfolders of the guides, which guides link to.
func attachments() []string { return filesLike(guidesFolder + "*/*") }

// filesLike returns the files of the documentation that match a pattern.
func filesLike(pattern string) []string {
	files, _ := fs.Glob(agegate.Docs, pattern) // fails for a bad pattern only
	return files
}

// mountFiles serves files at their paths below a folder.
func mountFiles(e *echo.Echo, files []string, folder, contentType string) {
	for _, file := range files {
		e.Match(reading, Path+"/"+strings.TrimPrefix(file, folder), onDemand(contentType,
			func() ([]byte, error) { return agegate.Docs.ReadFile(file) }))
	}
}

// workflows returns the workflows. The contract is one folder up in the repository,
// but in the same folder where they are served.
func workflows() ([]byte, error) {
	source, err := agegate.Docs.ReadFile("docs/arazzo.yaml")
	return bytes.ReplaceAll(source, []byte("url: ../openapi.yaml"), []byte("url: ./openapi.yaml")), err
}

// onDemand serves a public file that is made at its first request.
func onDemand(contentType string, content func() ([]byte, error)) echo.HandlerFunc {
	made := sync.OnceValues(func() (echo.HandlerFunc, error) {
		data, err := content()
		if err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
		return document(contentType, data), nil
	})
	return func(c echo.Context) error {
		serve, err := made()
		if err != nil {
			return err
		}
		return serve(c)
	}
}

// document serves a public file. Scripts of other origins may read it, because tools run on their own origins.
func document(contentType string, data []byte) echo.HandlerFunc {
	return packed(contentType, echo.HeaderAccessControlAllowOrigin, "*", data)
}

// packed serves content with a header.
func packed(contentType, name, value string, data []byte) echo.HandlerFunc {
	serve := page.Packed(contentType, data)
	return func(c echo.Context) error {
		c.Response().Header().Set(name, value)
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
	return bytes.Replace(document, []byte(placeholder), fmt.Appendf(nil, "\n  - url: %s\n", quoted), 1), err
}
