package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Traces says where traces are sent, by the standard OTEL_ variables. OpenTelemetry
// itself reads those about sampling, batches and the resource.
type Traces struct {
	Endpoint string            // address of the collector for traces; empty: none are made
	Headers  map[string]string // may hold a token: never logged
}

// setTraces reads the variables. A variable for traces alone takes precedence over the
// general one. given are the values as OpenTelemetry reads some of them itself.
func (c *Config) setTraces(lookup, given Lookup) []error {
	of := func(name string) (string, string) {
		if value, _ := lookup("OTEL_EXPORTER_OTLP_TRACES_" + name); value != "" {
			return "OTEL_EXPORTER_OTLP_TRACES_" + name, value
		}
		value, _ := lookup("OTEL_EXPORTER_OTLP_" + name)
		return "OTEL_EXPORTER_OTLP_" + name, value
	}
	exporter, _ := lookup("OTEL_TRACES_EXPORTER")
	disabled, _ := lookup("OTEL_SDK_DISABLED")
	name, endpoint := of("ENDPOINT")
	if endpoint == "" || exporter == "none" || strings.EqualFold(disabled, "true") {
		return nil
	}
	var errs []error
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		errs = append(errs, fmt.Errorf("%s must be an http or https address", name))
	} else {
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			u = u.JoinPath("v1", "traces")
		}
		c.Traces.Endpoint = u.String()
	}
	if name, protocol := of("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		errs = append(errs, fmt.Errorf("%s must be http/protobuf", name))
	}
	name, headers := of("HEADERS")
	if c.Traces.Headers, err = parseHeaders(headers); err != nil {
		errs = append(errs, fmt.Errorf("%s %w", name, err))
	}
	return append(errs, checkOpenTelemetry(given)...)
}

// checkOpenTelemetry checks what turns traces off, and what OpenTelemetry reads itself: of
// some values it would make nothing without a word, and of others it panics.
func checkOpenTelemetry(given Lookup) (errs []error) {
	whole := func(least int) (string, func(string) bool) {
		return fmt.Sprintf("a whole number from %d to %d", least, maxOpenTelemetry), func(value string) bool {
			n, err := strconv.Atoi(value)
			return err == nil && n >= least && n <= maxOpenTelemetry
		}
	}
	check := func(must string, ok func(value string) bool, names ...string) {
		for _, name := range names {
			if value, _ := given("OTEL_" + name); value != "" && !ok(value) {
				errs = append(errs, fmt.Errorf("OTEL_%s must be %s", name, must))
			}
		}
	}
	check("otlp or none", func(value string) bool { return value == "otlp" }, "TRACES_EXPORTER")
	check("true or false", func(value string) bool { return strings.EqualFold(value, "false") }, "SDK_DISABLED")
	samplers := []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off",
		"parentbased_traceidratio"}
	check("one of "+strings.Join(samplers, ", "),
		func(value string) bool { return slices.Contains(samplers, value) }, "TRACES_SAMPLER")
	check("a number from 0 to 1", func(value string) bool {
		share, err := strconv.ParseFloat(value, 64)
		return err == nil && share >= 0 && share <= 1
	}, "TRACES_SAMPLER_ARG")
	must, ok := whole(1)
	check(must, ok, "BSP_MAX_QUEUE_SIZE", "BSP_MAX_EXPORT_BATCH_SIZE", "BSP_SCHEDULE_DELAY", "BSP_EXPORT_TIMEOUT")
	must, ok = whole(-1)
	check(must, ok, "SPAN_ATTRIBUTE_COUNT_LIMIT", "SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "SPAN_EVENT_COUNT_LIMIT",
		"SPAN_LINK_COUNT_LIMIT", "EVENT_ATTRIBUTE_COUNT_LIMIT", "LINK_ATTRIBUTE_COUNT_LIMIT")
	return errs
}

// maxOpenTelemetry bounds the lengths and milliseconds that OpenTelemetry reads.
const maxOpenTelemetry = 1_000_000

// headerName matches a header's name (RFC 9110).
var headerName = regexp.MustCompile("^[0-9A-Za-z!#$%&'*+.^_`|~-]+$")

func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || err != nil || !headerName.MatchString(name) ||
			strings.ContainsFunc(value, unicode.IsControl) {
			return nil, errors.New("must be name=value pairs separated by commas, with values percent-encoded")
		}
		headers[name] = value
	}
	return headers, nil
}
