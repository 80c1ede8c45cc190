// Package templates holds the pages, their texts and their static files,
// embedded in the binary.
package templates

import "embed"

// Pages are the HTML templates: layout.html, the frame around every page, and
// one file per screen that defines "content".
//
//go:embed *.html
var Pages embed.FS

// Locales are the catalogues, one JSON object of key and text per language,
// named by BCP 47 tag. en.json is the reference.
//
//go:embed locales/*.json
var Locales embed.FS

// Static are the files a browser fetches by name: style sheets and ES modules.
//
//go:embed static
var Static embed.FS
