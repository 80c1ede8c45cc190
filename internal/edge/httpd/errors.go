package httpd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"

	"agegate/gen"
	"agegate/internal/edge/contract"
	"agegate/internal/edge/reference"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/store"
)

// errorHandler writes the response for every error: a fault by its code, an echo.HTTPError by its status with a
// fixed text, anything else as a 500 whose cause is logged.
type errorHandler struct {
	log    *slog.Logger
	routes routeNames
	pages  func(c echo.Context, status int, err error)
	full   atomic.Int64 // the minute in which the log was told of a full database
}

func (h *errorHandler) handle(err error, c echo.Context) {
	status, body := answer(err)
	clientGone := errors.Is(c.Request().Context().Err(), context.Canceled)
	if status >= http.StatusInternalServerError && !clientGone {
		h.report(c, status, err)
	}
	if c.Response().Committed {
		return
	}
	setRetryAfter(c, err)
	switch {
	case !isAPI(c.Request()) && h.pages != nil:
		h.pages(c, status, err)
	case !isAPI(c.Request()):
		err = c.String(status, http.StatusText(status))
	default:
		c.Response().Header().Set("Link", reference.Help(details(body)))
		err = c.JSON(status, body)
	}
	// An error here means that the client has gone.
	_ = err
}

// statusOf is the only place that converts a fault's code to a status.
var statusOf = map[fault.Code]int{
	fault.Invalid:           http.StatusUnprocessableEntity,
	fault.MalformedKey:      http.StatusUnauthorized,
	fault.InvalidKey:        http.StatusUnauthorized,
	fault.TenantDisabled:    http.StatusForbidden,
	fault.LiveKey:           http.StatusForbidden,
	fault.NotFound:          http.StatusNotFound,
	fault.Conflict:          http.StatusConflict,
	fault.Gone:              http.StatusGone,
	fault.InsufficientFunds: http.StatusPaymentRequired,
	fault.TooMany:           http.StatusTooManyRequests,
	fault.Unavailable:       http.StatusServiceUnavailable,
}

// answer returns the status and the contract's body for err.
func answer(err error) (int, any) {
	if found, ok := errors.AsType[contract.InvalidError](err); ok {
		return http.StatusUnprocessableEntity, gen.ValidationError{Detail: fromViolations(found)}
	}
	if known, ok := errors.AsType[*fault.Error](err); ok {
		status, ok := statusOf[known.Code]
		switch {
		case !ok:
			return detail(http.StatusInternalServerError)
		case known.Code == fault.Unavailable: // only the log says what is unavailable
			return detail(status)
		case known.Code == fault.Invalid: // contract.InvalidError names the fields
			return status, gen.ValidationError{Detail: fromViolations(nil)}
		case known.Code == fault.InsufficientFunds:
			return status, gen.CodedError{Detail: gen.CodedErrorDetail{
				Code: gen.ErrorCodeInsufficientCredit, Message: known.Message,
			}}
		}
		return status, gen.TextError{Detail: known.Message}
	}
	if http4xx, ok := errors.AsType[*echo.HTTPError](err); ok && http4xx.Code >= 400 && http4xx.Code < 500 {
		return detail(http4xx.Code)
	}
	return detail(http.StatusInternalServerError)
}

// details returns the names under which the guide to errors explains a body of answer:
// its text, its code, or the types of its violations.
func details(body any) []string {
	switch b := body.(type) {
	case gen.TextError:
		return []string{b.Detail}
	case gen.CodedError:
		return []string{string(b.Detail.Code)}
	case gen.ValidationError:
		types := make([]string, len(b.Detail))
		for i, v := range b.Detail {
			types[i] = v.Type
		}
		return types
	}
	return nil
}

// detail returns the fixed text of a status. An echo error's own message is
// never used: it may quote the request.
func detail(status int) (int, gen.TextError) {
	if status == http.StatusRequestEntityTooLarge {
		return status, gen.TextError{Detail: "Request body too large"}
	}
	return status, gen.TextError{Detail: http.StatusText(status)}
}

// fromViolations never returns an empty list, because the contract forbids one.
func fromViolations(found []contract.Violation) []gen.Violation {
	if len(found) == 0 {
		found = []contract.Violation{{Type: "value_error", Loc: []any{"body"}}}
	}
	list := make([]gen.Violation, len(found))
	for i, v := range found {
		list[i] = gen.Violation{Type: v.Type, Loc: v.Loc, Msg: gen.ViolationMessageValidationFailed}
	}
	return list
}

// setRetryAfter sets Retry-After, in whole seconds rounded up, if the fault has it.
func setRetryAfter(c echo.Context, err error) {
	if known, ok := errors.AsType[*fault.Error](err); ok && known.RetryAfter > 0 {
		seconds := int(math.Ceil(known.RetryAfter.Seconds()))
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(seconds))
	}
}

// report logs a failure of the gateway, of a full database once a minute: the route and the chain of error types.
// Texts of other packages' errors are left out, because they may quote input.
func (h *errorHandler) report(c echo.Context, status int, err error) {
	ctx := c.Request().Context()
	if known, ok := errors.AsType[*fault.Error](err); ok && known.Message == store.Full {
		if minute := time.Now().Unix() / 60; h.full.Swap(minute) != minute {
			h.log.WarnContext(ctx, store.Full+", so nothing is written: make room; see docs/operations/trouble.md")
		}
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", RequestID(ctx)),
		slog.String("method", knownMethod(c.Request().Method)),
		slog.String("route", h.routes.of(c)),
		slog.Int("status", status),
		slog.Any("error", chain(err)),
		fault.Stack(err),
	}
	h.log.LogAttrs(ctx, slog.LevelError, "request failed", attrs...)
}

// chain describes err and what it wraps, outermost first.
func chain(err error) []string {
	var list []string
	for err != nil {
		list = append(list, describe(err))
		switch wrapper := err.(type) {
		case interface{ Unwrap() error }:
			err = wrapper.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range wrapper.Unwrap() {
				list = append(list, chain(e)...)
			}
			return list
		default:
			return list
		}
	}
	return list
}

// describe returns an error's type, and its text or code if these cannot contain input.
func describe(err error) string {
	switch e := err.(type) {
	case *fault.Error:
		return fmt.Sprintf("fault %s: %s", e.Code, e.Message)
	case *fault.PanicError, syscall.Errno:
		return err.Error()
	case interface{ SQLState() string }: // Postgres
		return fmt.Sprintf("%T %s", err, e.SQLState())
	case interface{ Code() int }: // SQLite
		return fmt.Sprintf("%T %d %s", err, e.Code(), store.SQLiteWords(e.Code()))
	}
	if slices.Contains([]error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, os.ErrNotExist,
		credential.ErrSealed}, err) {
		return err.Error()
	}
	return fmt.Sprintf("%T", err)
}
