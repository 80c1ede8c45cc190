package trail

import (
	"context"
	"log/slog"

	"agegate/internal/rules/fault"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

type tracerKey struct{}

// Traced returns a context in which Span makes spans. A nil tracer changes nothing.
func Traced(ctx context.Context, tracer trace.Tracer) context.Context {
	if tracer == nil {
		return ctx
	}
	return context.WithValue(ctx, tracerKey{}, tracer)
}

// End ends a span, with the error of its part of the work and what is known then.
type End func(error, ...slog.Attr)

// Span begins a span for a part of the work, as a child of ctx's span; if ctx has
// none, it does nothing. Attributes must hold nothing personal. The caller must call
// end.
func Span(ctx context.Context, name string, about ...trace.SpanStartOption) (_ context.Context, end End) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, func(error, ...slog.Attr) {}
	}
	return Job(ctx, name, about...)
}

// Mark returns the span of ctx as a text for Link, or "" if there is none.
func Mark(ctx context.Context) string {
	text := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, text)
	return text["traceparent"]
}

// Link links a span to the one that was marked, if there was one.
func Link(mark string) trace.SpanStartOption {
	text := propagation.MapCarrier{"traceparent": mark}
	return trace.WithLinks(trace.LinkFromContext(propagation.TraceContext{}.Extract(context.Background(), text)))
}

// Job is Span for work that no request asks for: it may begin a trace.
func Job(ctx context.Context, name string, about ...trace.SpanStartOption) (_ context.Context, end End) {
	tracer, ok := ctx.Value(tracerKey{}).(trace.Tracer)
	if !ok {
		return ctx, func(error, ...slog.Attr) {}
	}
	ctx, span := tracer.Start(ctx, name, about...)
	return ctx, func(err error, attrs ...slog.Attr) {
		span.SetAttributes(attributes(attrs)...)
		if code := fault.CodeOf(err); err != nil && (code == "" || code == fault.Unavailable) {
			span.SetStatus(codes.Error, string(code))
		}
		span.End()
	}
}

// Describe adds what is known of the request to its span.
func Describe(ctx context.Context, span trace.Span) {
	if t, ok := ctx.Value(key{}).(*trail); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		span.SetAttributes(attributes(t.attrs)...)
	}
}

func attributes(attrs []slog.Attr) []attribute.KeyValue {
	list := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		list[i] = attribute.String("agegate."+a.Key, a.Value.String())
	}
	return list
}
