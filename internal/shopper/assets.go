package shopper

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"
)

// assets are the static files under one URL prefix that holds a hash of all of
// them: a new build has new URLs, so browsers may keep the files for ever, and
// modules can import each other by relative path.
type assets struct {
	base  string // "/static/<hash>", without a trailing slash
	files map[string]asset
}

type asset struct {
	mime       string
	body, gzip []byte
}

func loadAssets(files fs.FS) (*assets, error) {
	a := &assets{files: map[string]asset{}}
	hash := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		hash.Write([]byte(name))
		hash.Write(sum[:])
		packed, err := gzipped(body)
		a.files[name] = asset{mime: mimeOf(name), body: body, gzip: packed}
		return err
	})
	a.base = "/static/" + hex.EncodeToString(hash.Sum(nil)[:8])
	return a, err
}

// mimeOf does not ask the operating system, whose tables differ.
func mimeOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return mime.TypeByExtension(path.Ext(name))
	}
}

func gzipped(body []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// serve answers GET /static/{hash}/{file}. The hash of another build, on
// another replica during an update, gets this build's file, not to be kept.
func (a *assets) serve(c echo.Context) error {
	hash, name, _ := strings.Cut(c.Param("*"), "/")
	file, known := a.files[name]
	if !known {
		return echo.ErrNotFound
	}
	header := c.Response().Header()
	header.Set("Cache-Control", "no-store")
	if "/static/"+hash == a.base {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	header.Set("Vary", "Accept-Encoding")
	header.Set("X-Content-Type-Options", "nosniff")
	if strings.Contains(c.Request().Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		return c.Blob(http.StatusOK, file.mime, file.gzip)
	}
	return c.Blob(http.StatusOK, file.mime, file.body)
}
