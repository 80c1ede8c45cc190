package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"agegate/internal/app/config"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// uploadTime bounds one upload of traces.
const uploadTime = 10 * time.Second

// openTraces prepares tracing, if an address for traces is configured. Sampling and
// batches follow the OTEL_ variables of OpenTelemetry.
func (a *App) openTraces(ctx context.Context, to config.Traces) error {
	if to.Endpoint == "" {
		return nil
	}
	if len(to.Unread) > 0 {
		a.log.WarnContext(ctx, "variables of OpenTelemetry are not read", "names", to.Unread)
	}
	exporter, err := otlptrace.New(ctx, &collector{to, &http.Client{Timeout: uploadTime}})
	if err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	// resource.Environment reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. They override the attributes set here.
	about, err := resource.Merge(resource.NewSchemaless(attribute.String("service.name", "agegate"),
		attribute.String("service.version", a.replica.Version),
		attribute.String("service.instance.id", a.replica.ID.String())), resource.Environment())
	if err != nil {
		return fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		a.log.LogAttrs(ctx, slog.LevelWarn, "traces were lost", slog.Any("error", err))
	}))
	a.traces = trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	a.tracer = a.traces.Tracer("agegate")
	return nil
}

// collector sends spans to a collector by OTLP over HTTP. OpenTelemetry's own exporter, otlptracehttp, is not used,
// because it would bring gRPC into the program. Spans that the collector does not accept are lost.
type collector struct {
	to   config.Traces
	http *http.Client
}

// Start implements otlptrace.Client.
func (c *collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *collector) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. Its errors do not contain the address.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData has the same encoding as ExportTraceServiceRequest.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.to.Endpoint, bytes.NewReader(body))
	if err != nil {
		return errors.New("the collector's address cannot be used")
	}
	for name, value := range c.to.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	res, err := c.http.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("the collector cannot be reached: %w", failed.Err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection is kept
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %d", res.StatusCode)
	}
	return nil
}
