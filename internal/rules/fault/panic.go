package fault

import (
	"fmt"
	"runtime"
)

// PanicError is a recovered panic. It holds the type of the panic's value and the
// stack, but not the value, which may contain input; only the text of one of Go's
// own run-time errors is kept.
type PanicError struct {
	Frames []string // innermost first
	kind   string
}

// Error returns the kind of the panic.
func (p *PanicError) Error() string { return "panic: " + p.kind }

// Recovered returns the error for what recover returned. The deferred function
// has to call it itself.
func Recovered(value any) *PanicError {
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
