// Package agegate holds what is published from the root of the repository.
package agegate

import "embed"

// OpenAPI is openapi.yaml as it is written.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Docs holds the documents that internal/edge/reference publishes: the guides in
// Markdown with the files that they link to and their pictures, the samples, the
// changelog and the Arazzo description.
//
//go:embed docs/guides docs/samples docs/certify.md docs/operations docs/operations.md docs/compatibility.md
//go:embed docs/document.md docs/evidence.md docs/expect.md docs/pictures/*.svg
//go:embed docs/arazzo.yaml CHANGELOG.md
var Docs embed.FS
