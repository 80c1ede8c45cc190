//go:build tools

// Package tools pins the programs that make generate runs to the versions in
// go.mod.
package tools

import _ "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"
