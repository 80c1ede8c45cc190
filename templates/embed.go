// Package templates embeds the pages: a folder for each set of pages with its
// templates, catalogues and static files, and one for what the sets share.
package templates

import (
	"embed"
	"io/fs"
)

//go:embed shared shopper dashboard reference
var files embed.FS

// Shared returns the templates that every set of pages may use: icons.html.
func Shared() fs.FS { return folder("shared") }

// SharedStatic returns the static files that every set of pages serves:
// tokens.css, the colours and measures.
func SharedStatic() fs.FS { return folder("shared/static") }

// Dashboard returns the files of the dashboard and of the operator's pages, laid
// out as those of Shopper. blocks/ has the parts that pages are put together
// from; a language's texts are a folder, one file for each page.
func Dashboard() fs.FS { return folder("dashboard") }

// Shopper returns the files of the hosted page: layout.html, the frame around
// every page, and one template per screen that defines "content"; locales/, one
// JSON catalogue per language, named by BCP 47 tag; static/, what a browser
// fetches by name.
func Shopper() fs.FS { return folder("shopper") }

// Reference returns the templates of the reference and the guides: layout.html,
// the frame around every page; reference.html, the operations; reference.md, the
// same in Markdown; blocks/samples.html, code in several languages.
func Reference() fs.FS { return folder("reference") }

// ReferenceStatic returns the style and the script of those pages.
func ReferenceStatic() fs.FS { return folder("reference/static") }

func folder(name string) fs.FS {
	sub, err := fs.Sub(files, name)
	if err != nil {
		panic(err) // only for an invalid name
	}
	return sub
}
