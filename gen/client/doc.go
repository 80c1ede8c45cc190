// Package client is a Go client of the published contract, generated from
// openapi.yaml. The sample shop and the tests use it; it shares no code with
// the gateway, so it sees exactly what a merchant sees.
package client

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen -config oapi-codegen.yaml ../../openapi.yaml
