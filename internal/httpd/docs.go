package httpd

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	swagger "github.com/swaggest/swgui/v5/static"
	"go.yaml.in/yaml/v3"

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

// mountDocs publishes the contract with baseURL as its server, in OpenAPI 3.1
// and 3.0, and the browsable reference at /docs.
func mountDocs(e *echo.Echo, baseURL string) error {
	for name, source := range map[string][]byte{"/openapi": agegate.OpenAPI, "/openapi-3.0": gen.OpenAPI30} {
		asYAML, err := withServer(source, baseURL)
		if err != nil {
			return fmt.Errorf("httpd: %s: %w", name, err)
		}
		var doc any
		if err := yaml.Unmarshal(asYAML, &doc); err != nil {
			return fmt.Errorf("httpd: %s: %w", name, err)
		}
		asJSON, err := json.Marshal(doc)
		if err != nil {
			return fmt.Errorf("httpd: %s: %w", name, err)
		}
		e.Match(reading, name+".yaml", document("application/yaml; charset=utf-8", asYAML))
		e.Match(reading, name+".json", document("application/json", asJSON))
	}
	files, err := referenceFiles()
	if err != nil {
		return err
	}
	for route, file := range files {
		e.Match(reading, route, file)
	}
	return nil
}

// document serves a published file to anybody, other origins' scripts
// included: it holds nothing private, and tools read it from where they are.
// A client that has the same version is answered 304.
func document(contentType string, data []byte) echo.HandlerFunc {
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(data))
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set(echo.HeaderAccessControlAllowOrigin, "*")
		h.Set(echo.HeaderCacheControl, "no-cache")
		h.Set(echo.HeaderContentType, contentType)
		h.Set("ETag", tag)
		http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(data))
		return nil
	}
}

// withServer replaces the server in a document's text, so that its order and
// its comments stay.
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
