package httpd

import (
	"net/http"
	"net/netip"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"agegate/internal/rules/trail"
)

// traced continues the trace that a trusted proxy has begun (traceparent), so that its ID is in the log, and
// makes a span for the request if there is a tracer. Probes are left out.
func traced(tracer trace.Tracer, proxies []netip.Prefix, routes routeNames) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			req := c.Request()
			ctx, route := req.Context(), routes.of(c)
			if isProxy(req, proxies) {
				ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(req.Header))
			}
			span := trace.SpanFromContext(ctx)
			if tracer != nil && !isProbe(route) {
				ctx, span = tracer.Start(trail.Traced(ctx, tracer), knownMethod(req.Method)+" "+route,
					trace.WithSpanKind(trace.SpanKindServer))
				defer span.End()
			}
			if id := span.SpanContext().TraceID(); id.IsValid() {
				trail.Note(ctx, "trace_id", id.String())
			}
			c.SetRequest(req.WithContext(ctx))
			err := next(c) // the access log has answered errors
			status := c.Response().Status
			span.SetAttributes(attribute.String("http.request.method", knownMethod(req.Method)),
				attribute.String("http.route", route), attribute.Int("http.response.status_code", status))
			if status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, "")
			}
			trail.Describe(ctx, span)
			return err
		}
	}
}

// isProbe reports whether a route is for load balancers, which ask every few seconds.
func isProbe(route string) bool { return route == "/healthz" || route == "/readyz" }
