// Package trail collects what is known of a request, such as its ID and its tenant, and
// adds it to every line that is logged with the request's context.
package trail

import (
	"context"
	"log/slog"
	"sync"
)

type key struct{}

// trail is the attributes of one request.
type trail struct {
	mu    sync.Mutex
	attrs []slog.Attr
}

// Begin returns a context with attributes, to which Note adds further ones.
func Begin(ctx context.Context, attrs ...slog.Attr) context.Context {
	return context.WithValue(ctx, key{}, &trail{attrs: attrs})
}

// Note adds an attribute to all later log lines of the request, including those that
// are logged with a parent of ctx. A second attribute of the same name replaces the
// first. Without Begin, Note does nothing.
func Note(ctx context.Context, name, value string) {
	t, ok := ctx.Value(key{}).(*trail)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.attrs {
		if t.attrs[i].Key == name {
			t.attrs[i].Value = slog.StringValue(value)
			return
		}
	}
	t.attrs = append(t.attrs, slog.String(name, value))
}

// Handler adds the attributes of the context to each line. An attribute that the line
// already has is not added.
type Handler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h Handler) Handle(ctx context.Context, line slog.Record) error {
	if t, ok := ctx.Value(key{}).(*trail); ok {
		own := map[string]bool{}
		line.Attrs(func(a slog.Attr) bool {
			own[a.Key] = true
			return true
		})
		line = line.Clone()
		t.mu.Lock()
		for _, a := range t.attrs {
			if !own[a.Key] {
				line.AddAttrs(a)
			}
		}
		t.mu.Unlock()
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return Handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h Handler) WithGroup(name string) slog.Handler { return Handler{h.Handler.WithGroup(name)} }
