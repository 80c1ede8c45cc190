package contract_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"agegate"
	"agegate/gen"
	"agegate/internal/edge/contract"
)

type answering struct{ gen.StrictServerInterface }

func (answering) CreateSession(
	context.Context, gen.CreateSessionRequestObject,
) (gen.CreateSessionResponseObject, error) {
	return gen.CreateSession201JSONResponse{}, nil
}

func (answering) GetSessionStatus(
	context.Context, gen.GetSessionStatusRequestObject,
) (gen.GetSessionStatusResponseObject, error) {
	return gen.GetSessionStatus200JSONResponse{}, nil
}

func (answering) GetDetectedAge(
	context.Context, gen.GetDetectedAgeRequestObject,
) (gen.GetDetectedAgeResponseObject, error) {
	return gen.GetDetectedAge200JSONResponse{}, nil
}

// BenchmarkGuard alternates between the same generated handlers with and without
// the guard, and reports the time that the guard adds and the ratio.
func BenchmarkGuard(b *testing.B) {
	bare := echo.New()
	gen.RegisterHandlers(bare, gen.NewStrictHandler(answering{}, nil))

	doc, err := contract.Read(agegate.OpenAPI)
	if err != nil {
		b.Fatal(err)
	}
	c, err := contract.New(doc)
	if err != nil {
		b.Fatal(err)
	}
	guarded := echo.New()
	guarded.Binder = contract.Binder{}
	guarded.Use(c.Middleware(func(echo.Context) error { return nil }, nil))
	gen.RegisterHandlers(guarded, gen.NewStrictHandler(answering{}, nil))

	const status = "/api/v1/sessions/0190c0de-5a3b-7c1d-9e2f-4b6a8d0c1e3f/status"
	for name, request := range map[string]func() *http.Request{
		"create": func() *http.Request {
			body := `{"target_age":18,"success_url":"https://a.example/x?y=1"}`
			r := httptest.NewRequest(http.MethodPost, "/api/v1/sessions/create", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			return r
		},
		"status": func() *http.Request { return httptest.NewRequest(http.MethodGet, status, nil) },
	} {
		b.Run(name, func(b *testing.B) {
			var total [2]float64
			for b.Loop() {
				for i, handler := range []http.Handler{bare, guarded} {
					total[i] += serve(b, handler, request)
				}
			}
			b.ReportMetric((total[1]-total[0])/float64(b.N), "ns-added")
			b.ReportMetric(total[1]/total[0], "ratio")
		})
	}
}

// serve returns the nanoseconds that handler takes for one request.
func serve(b *testing.B, handler http.Handler, request func() *http.Request) float64 {
	const batch = 100
	requests := make([]*http.Request, batch)
	for i := range requests {
		requests[i] = request()
	}
	recorders := make([]httptest.ResponseRecorder, batch)
	start := time.Now()
	for i, r := range requests {
		handler.ServeHTTP(&recorders[i], r)
	}
	took := time.Since(start)
	if code := recorders[0].Code; code != 200 && code != 201 {
		b.Fatalf("answered %d", code)
	}
	return float64(took) / batch
}
