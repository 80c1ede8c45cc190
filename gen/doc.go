// Package gen is the published contract in Go: wire types and the strict
// server interface that internal/edge/api fills, and the contract's edition in
// OpenAPI 3.0.3. Everything but this file and the configuration is generated
// from openapi.yaml; run make generate after a change.
package gen

import _ "embed"

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config oapi-codegen.yaml ../openapi.yaml

// OpenAPI30 is the contract as OpenAPI 3.0.3, for tools that do not read 3.1.
//
//go:embed openapi-3.0.yaml
var OpenAPI30 []byte
