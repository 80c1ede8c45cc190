// Package templates embeds the pages: a folder for each set of pages with its
// templates, catalogues and static files.
package templates

import (
	"embed"
	"io/fs"
)

//go:embed shopper
var files embed.FS

// Shopper returns the files of the hosted page: layout.html, the frame around
// every page, and one template per screen that defines "content"; locales/, one
// JSON catalogue per language, named by BCP 47 tag; static/, what a browser
// fetches by name.
func Shopper() fs.FS {
	sub, err := fs.Sub(files, "shopper")
	if err != nil {
		panic(err) // only for an invalid name
	}
	return sub
}
