package contract

import (
	"fmt"

	"github.com/labstack/echo/v4"
	"github.com/oapi-codegen/runtime"
)

// bodyKey is the key of the decoded body in echo's context.
const bodyKey = "contract.body"

// Binder binds the value that the guard validated, so that a body is decoded once and member names match exactly.
type Binder struct{}

// Bind fills dst from the validated body. An error means that the guard did not run or that dst does not fit the
// contract's schema, which is a bug and not the client's fault. The cause is left out because it may quote the body.
func (Binder) Bind(dst any, c echo.Context) error {
	body := c.Get(bodyKey)
	if body == nil {
		return fmt.Errorf("contract: binding %T: the body was not validated", dst)
	}
	if err := runtime.BindJSONValue(body, dst); err != nil {
		return fmt.Errorf("contract: binding %T: the type does not fit the schema", dst)
	}
	return nil
}
