// Package fault defines the error type for expected failures of the domain: a
// code for the caller to branch on, a message that is safe to publish, and the
// wrapped cause for the log. Any other error, including a recovered panic, is
// unexpected and becomes a 500 with a fixed text.
package fault

import (
	"errors"
	"time"
)

// Code is the kind of a fault. internal/edge/httpd maps each code to one HTTP
// status; nothing else does.
type Code string

// The codes, with the HTTP status of each.
const (
	Invalid           Code = "invalid"             // 422, see Fields
	MalformedKey      Code = "malformed_key"       // 401
	InvalidKey        Code = "invalid_key"         // 401
	TenantDisabled    Code = "tenant_disabled"     // 403
	LiveKey           Code = "live_key"            // 403, where a test key is needed
	NotFound          Code = "not_found"           // 404
	Conflict          Code = "conflict"            // 409
	Gone              Code = "gone"                // 410
	InsufficientFunds Code = "insufficient_credit" // 402
	TooMany           Code = "too_many"            // 429
	Unavailable       Code = "unavailable"         // 503
)

// FieldError is one field of a request that breaks a rule of the domain.
type FieldError struct {
	Field string // the domain's name for it, for example "success_url"
	Err   error  // the rule, one of the domain's errors; its text contains no input
}

// Error is an expected failure. Message is published unchanged and must never
// contain input; the cause is for the log only.
//
// errors.Is compares faults by identity: a package variable such as
// session.ErrLate is only itself. To branch on the kind of failure, use CodeOf.
type Error struct {
	Code       Code
	Message    string
	Fields     []FieldError  // for Invalid
	RetryAfter time.Duration // for TooMany and Unavailable; zero when unknown
	cause      error
}

// New returns a fault with a public message.
func New(code Code, message string) *Error {
	return &Error{Code: code, Message: message}
}

// Wrap returns a fault with a public message and the cause behind it.
func Wrap(cause error, code Code, message string) *Error {
	return &Error{Code: code, Message: message, cause: cause}
}

// After sets how long the caller is asked to wait before trying again, and returns
// the fault.
func (e *Error) After(wait time.Duration) *Error {
	e.RetryAfter = wait
	return e
}

// InvalidFields returns the fault for a request whose fields break a rule the
// contract cannot express.
func InvalidFields(fields ...FieldError) *Error {
	return &Error{Code: Invalid, Message: "validation failed", Fields: fields}
}

// Error returns the public message followed by the cause, for logs.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the code of the first fault in err's chain, or "" when there
// is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
