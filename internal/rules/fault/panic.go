package fault

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
)

// PanicError is a recovered panic. It contains the type of the panic's value and
// the stack, but not the value, which may contain input. Only the text of a
// run-time error of Go is kept.
type PanicError struct {
	Frames []string // innermost first
	kind   string
}

// Error returns the kind of the panic.
func (p *PanicError) Error() string { return "panic: " + p.kind }

// Stack returns the log attribute "stack" if err contains a panic. Otherwise it returns
// an empty attribute, which handlers leave out.
func Stack(err error) slog.Attr {
	if p, ok := errors.AsType[*PanicError](err); ok {
		return slog.Any("stack", p.Frames)
	}
	return slog.Attr{}
}

var panics atomic.Int64

// Panics returns how many panics this process has recovered.
func Panics() int64 { return panics.Load() }

// Recovered counts a panic and returns the error for the value that recover
// returned. The deferred function must call it directly.
func Recovered(value any) *PanicError {
	panics.Add(1)
	p := &PanicError{kind: fmt.Sprintf("%T", value)}
	if err, ok := value.(runtime.Error); ok {
		p.kind = err.Error()
	}
	pcs := make([]uintptr, 32)
	// Skips runtime.Callers, this function and the deferred one.
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, more := frames.Next()
		p.Frames = append(p.Frames, fmt.Sprintf("%s:%d", frame.Function, frame.Line))
		if !more {
			return p
		}
	}
}
