package httpd

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"
	swagger "github.com/swaggest/swgui/v5/static"

	"agegate"
	"agegate/gen"
)

// docsPolicy lets the reference run the scripts and styles we serve, and reach
// nobody else. The renderer sets style attributes, and draws icons from data
// URLs.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed docs
var docsFiles embed.FS

// mountDocs publishes the contract with baseURL as its server, and the
// browsable reference at /docs.
func mountDocs(e *echo.Echo, baseURL string) error {
	asYAML, err := publishedYAML(baseURL)
	if err != nil {
		return err
	}
	asJSON, err := publishedJSON(baseURL)
	if err != nil {
		return err
	}
	files, err := referenceFiles()
	if err != nil {
		return err
	}
	e.Match(reading, "/openapi.yaml", document("application/yaml; charset=utf-8", asYAML))
	e.Match(reading, "/openapi.json", document("application/json", asJSON))
	for route, file := range files {
		e.Match(reading, route, file)
	}
	return nil
}

// document serves a published file to anybody, other origins' scripts
// included: it holds nothing private, and tools read it from where they are.
func document(contentType string, data []byte) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set(echo.HeaderAccessControlAllowOrigin, "*")
		h.Set(echo.HeaderCacheControl, "no-cache")
		return c.Blob(http.StatusOK, contentType, data)
	}
}

// publishedYAML replaces the server in the hand-written text, so that its
// order and its comments stay.
func publishedYAML(baseURL string) ([]byte, error) {
	const placeholder = "\n  - url: /\n"
	if bytes.Count(agegate.OpenAPI, []byte(placeholder)) != 1 {
		return nil, errors.New("httpd: openapi.yaml does not have exactly one server '/'")
	}
	quoted, err := json.Marshal(baseURL) // a JSON string is a YAML string
	if err != nil {
		return nil, err
	}
	return bytes.Replace(agegate.OpenAPI, []byte(placeholder), fmt.Appendf(nil, "\n  - url: %s\n", quoted), 1), nil
}

func publishedJSON(baseURL string) ([]byte, error) {
	data, err := gen.GetSpecJSON()
	if err != nil {
		return nil, fmt.Errorf("httpd: reading the contract: %w", err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("httpd: reading the contract: %w", err)
	}
	servers, ok := doc["servers"].([]any)
	if !ok || len(servers) != 1 {
		return nil, errors.New("httpd: the contract does not have exactly one server")
	}
	server, ok := servers[0].(map[string]any)
	if !ok {
		return nil, errors.New("httpd: the contract's server is not an object")
	}
	server["url"] = baseURL
	return json.Marshal(doc)
}

// referenceFiles returns the reference's page, our script that starts it, and
// the renderer's files, by route.
func referenceFiles() (map[string]echo.HandlerFunc, error) {
	files := map[string]echo.HandlerFunc{}
	for route, name := range map[string]string{"/docs": "docs/index.html", "/docs/init.js": "docs/init.js"} {
		data, err := docsFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files[route] = asset(name, data, nil)
	}
	for _, name := range []string{"swagger-ui-bundle.js", "swagger-ui.css"} {
		zipped, err := swagger.FS.ReadFile(name + ".gz")
		if err != nil {
			return nil, err
		}
		plain, err := gunzip(zipped)
		if err != nil {
			return nil, fmt.Errorf("httpd: unpacking %s: %w", name, err)
		}
		files["/docs/"+name] = asset(name, plain, zipped)
	}
	icon, err := swagger.FS.ReadFile("favicon-32x32.png")
	if err != nil {
		return nil, err
	}
	files["/docs/favicon-32x32.png"] = asset("favicon-32x32.png", icon, nil)
	return files, nil
}

func gunzip(zipped []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// asset serves one file of the reference, compressed where there is a
// compressed form and the client takes it.
func asset(name string, plain, zipped []byte) echo.HandlerFunc {
	contentType := map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".png": "image/png",
	}[path.Ext(name)]
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", docsPolicy)
		h.Set(echo.HeaderCacheControl, "public, max-age=3600")
		data := plain
		if zipped != nil {
			h.Set(echo.HeaderVary, echo.HeaderAcceptEncoding)
			if strings.Contains(c.Request().Header.Get(echo.HeaderAcceptEncoding), "gzip") {
				h.Set(echo.HeaderContentEncoding, "gzip")
				data = zipped
			}
		}
		return c.Blob(http.StatusOK, contentType, data)
	}
}
