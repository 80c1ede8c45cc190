package httpd

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	swagger "github.com/swaggest/swgui/v5/static"
	"go.yaml.in/yaml/v3"

	"agegate"
	"agegate/gen"
	"agegate/internal/page"
)

// docsPolicy allows the reference scripts, styles and connections of this
// server only. The renderer needs style attributes, and data URLs for its
// icons.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed docs
var docsFiles embed.FS

// mountDocs serves the contract in OpenAPI 3.1 and 3.0, with baseURL as its
// server, and the browsable reference at /docs.
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
		e.Match(reading, name+".yaml", document("application/yaml; charset=utf-8", asYAML), page.Compress)
		e.Match(reading, name+".json", document("application/json", asJSON), page.Compress)
	}
	return mountReference(e)
}

// document serves a public file, also to scripts of other origins, because
// tools read it from their own. A client that has the same version gets 304.
func document(contentType string, data []byte) echo.HandlerFunc {
	tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(data)) // weak: the same for compressed bytes
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

// mountReference serves the page of the reference and its files: the script
// that starts the renderer, and the renderer.
func mountReference(e *echo.Echo) error {
	own, err := fs.Sub(docsFiles, "docs")
	if err != nil {
		return err
	}
	assets, err := page.LoadAssets("/docs",
		page.Source{Files: own, Names: []string{"init.js"}},
		page.Source{Files: swagger.FS, Names: []string{"favicon-32x32.png", "swagger-ui-bundle.js.gz", "swagger-ui.css.gz"}})
	if err != nil {
		return fmt.Errorf("httpd: files of the reference: %w", err)
	}
	index, err := template.ParseFS(own, "index.html")
	if err != nil {
		return fmt.Errorf("httpd: page of the reference: %w", err)
	}
	var html bytes.Buffer
	if err := index.Execute(&html, assets.Base()); err != nil {
		return fmt.Errorf("httpd: page of the reference: %w", err)
	}
	e.Match(reading, "/docs", func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderCacheControl, "no-cache") // it names the files of this build
		return c.HTMLBlob(http.StatusOK, html.Bytes())
	}, withDocsPolicy, page.Compress)
	assets.Register(e, withDocsPolicy)
	return nil
}

func withDocsPolicy(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("Content-Security-Policy", docsPolicy)
		return next(c)
	}
}
