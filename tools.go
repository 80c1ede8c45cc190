//go:build tools

package agegate

// The programs that make generate runs, pinned to the versions in go.mod.
import _ "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"
