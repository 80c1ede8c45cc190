package contract_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"agegate/internal/edge/contract"

	"github.com/labstack/echo/v4"
)

const petShop = `
openapi: 3.0.3
info: {title: pets, version: "1"}
paths:
  /api/v1/pets:
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              additionalProperties: false
              required: [age]
              properties:
                age: {type: integer, minimum: 0}
      responses:
        "201": {description: created}
`

// A handler behind the guard sees only requests that satisfy the document, and
// binds the value that was validated.
func ExampleContract_Middleware() {
	document, err := contract.Read([]byte(petShop))
	if err != nil {
		panic(err)
	}
	guard, err := contract.New(document)
	if err != nil {
		panic(err)
	}
	e := echo.New()
	e.Binder = contract.Binder{}
	authenticate := func(echo.Context) error { return nil } // not called, because the document does not require it
	checkBody := func(echo.Context, map[string]any) ([]contract.Violation, error) { return nil, nil }
	e.Use(guard.Middleware(authenticate, checkBody))
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		if invalid, ok := errors.AsType[contract.InvalidError](err); ok {
			_ = c.JSON(http.StatusUnprocessableEntity, invalid)
		}
	}
	e.POST("/api/v1/pets", func(c echo.Context) error {
		var pet struct {
			Age int `json:"age"`
		}
		if err := c.Bind(&pet); err != nil {
			return err
		}
		return c.String(http.StatusCreated, fmt.Sprintf("created, age %d", pet.Age))
	})
	if err := guard.CheckRoutes(e); err != nil {
		panic(err)
	}

	for _, body := range []string{`{"age": 3}`, `{"age": -1, "name": "Rex"}`} {
		request := httptest.NewRequest(http.MethodPost, "/api/v1/pets", strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		response := httptest.NewRecorder()
		e.ServeHTTP(response, request)
		fmt.Println(response.Code, strings.TrimSpace(response.Body.String()))
	}

	// Output:
	// 201 created, age 3
	// 422 [{"Type":"greater_than_equal","Loc":["body","age"]},{"Type":"extra_forbidden","Loc":["body","name"]}]
}
