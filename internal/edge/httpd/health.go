package httpd

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"agegate/internal/rules/routine"
)

// checkTimeout bounds one readiness check.
const checkTimeout = 2 * time.Second

// mountHealth serves /healthz, which reports that the process is running, and /readyz, which reports whether it
// can serve requests. Both are for load balancers and are not part of the published contract.
func mountHealth(e *echo.Echo, checks map[string]func(context.Context) error) {
	e.Match(reading, "/healthz", func(c echo.Context) error {
		return c.JSON(http.StatusOK, map[string]string{"status": "ok"})
	})
	e.Match(reading, "/readyz", func(c echo.Context) error {
		return ready(c, checks)
	})
}

// ready runs the checks in parallel and answers 200, or 503 with the names of
// those that failed. Their errors are not shown.
func ready(c echo.Context, checks map[string]func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), checkTimeout)
	defer cancel()
	type result struct {
		name string
		err  error
	}
	results := make(chan result, len(checks))
	for name, check := range checks {
		routine.Go("readiness of "+name, func() { results <- result{name, check(ctx)} })
	}
	status, code := map[string]string{}, http.StatusOK
	for name := range checks {
		status[name] = "failed" // the status until the check succeeds
	}
	for range checks {
		select {
		case r := <-results:
			if r.err == nil {
				status[r.name] = "ok"
			}
		case <-ctx.Done():
		}
	}
	for _, s := range status {
		if s != "ok" {
			code = http.StatusServiceUnavailable
		}
	}
	return c.JSON(code, map[string]any{"checks": status})
}
