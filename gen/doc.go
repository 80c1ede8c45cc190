// Package gen is the published contract in Go: wire types, the strict server
// interface that internal/api fills, and the document itself. Everything but
// this file is generated from openapi.yaml; run make generate after a change.
package gen

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config oapi-codegen.yaml ../openapi.yaml
