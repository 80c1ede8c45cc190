package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// Assets are static files under one URL prefix that contains a hash of all of them. A new build has new URLs, so
// browsers may cache the files for ever, and modules can import each other by relative path.
type Assets struct {
	mount string // for example "/static"
	base  string // mount and hash
	files map[string]asset
}

type asset struct {
	mime       string
	body, gzip []byte
}

// Source is a set of files to serve.
type Source struct {
	Files fs.FS
	// Names are the files to serve; nil serves all. A name that ends in .gz is
	// served without that suffix, compressed, to clients that accept gzip.
	Names []string
}

// LoadAssets reads the files to be served below mount, a path without a trailing slash.
func LoadAssets(mount string, sources ...Source) (*Assets, error) {
	a := &Assets{mount: mount, files: map[string]asset{}}
	hash := sha256.New()
	packer, err := gzip.NewWriterLevel(nil, gzip.BestCompression) // once for all who load them
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		names, err := source.names()
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := fs.ReadFile(source.Files, name)
			if err != nil {
				return nil, err
			}
			name, file, err := newAsset(packer, name, data)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			a.files[name] = file
			sum := sha256.Sum256(data)
			hash.Write([]byte(name))
			hash.Write(sum[:])
		}
	}
	a.base = mount + "/" + hex.EncodeToString(hash.Sum(nil)[:8])
	return a, nil
}

func (s Source) names() ([]string, error) {
	if s.Names != nil {
		return slices.Sorted(slices.Values(s.Names)), nil
	}
	var names []string
	err := fs.WalkDir(s.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// newAsset returns a file, plain and compressed, and the name under which it is served.
func newAsset(packer *gzip.Writer, name string, data []byte) (string, asset, error) {
	unpacked, isPacked := strings.CutSuffix(name, ".gz")
	if !isPacked {
		var packed bytes.Buffer
		packer.Reset(&packed)
		_, _ = packer.Write(data) // a buffer takes everything
		_ = packer.Close()
		return name, asset{mime: mimeOf(name), body: data, gzip: bytes.Clone(packed.Bytes())}, nil
	}
	plain, err := gunzipped(data)
	return unpacked, asset{mime: mimeOf(unpacked), body: plain, gzip: data}, err
}

// mimeOf returns the media type of a file by its name. It does not use the operating
// system's table, which differs between machines.
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

func gunzipped(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Base is the URL path above the files, without a trailing slash.
func (a *Assets) Base() string { return a.base }

// Register mounts the files, with the middlewares given.
func (a *Assets) Register(e *echo.Echo, middlewares ...echo.MiddlewareFunc) {
	e.Match([]string{http.MethodGet, http.MethodHead}, a.mount+"/*", a.serve, middlewares...)
}

// KeepForever lets browsers and proxies cache a response for ever. The address of the
// response must change with its content.
func KeepForever(c echo.Context) {
	c.Response().Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	c.Response().Header().Set("X-Content-Type-Options", "nosniff")
}

// serve answers GET {mount}/{hash}/{file}. During an update, a page of another replica may ask with the hash of
// another build. It gets this build's file, which must then not be cached.
func (a *Assets) serve(c echo.Context) error {
	hash, name, _ := strings.Cut(c.Param("*"), "/")
	file, known := a.files[name]
	if !known {
		return echo.ErrNotFound
	}
	header := c.Response().Header()
	header.Set("Cache-Control", "no-store")
	if a.mount+"/"+hash == a.base {
		KeepForever(c)
	}
	header.Set("Vary", "Accept-Encoding")
	header.Set("X-Content-Type-Options", "nosniff")
	if acceptsGzip(c.Request().Header) {
		header.Set("Content-Encoding", "gzip")
		return c.Blob(http.StatusOK, file.mime, file.gzip)
	}
	return c.Blob(http.StatusOK, file.mime, file.body)
}
