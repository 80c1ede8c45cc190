// Package agegate holds what is published from the root of the repository.
package agegate

import _ "embed"

// OpenAPI is openapi.yaml as it is written.
//
//go:embed openapi.yaml
var OpenAPI []byte
