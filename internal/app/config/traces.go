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
	Unread   []string          // see Unread; set by commands, not by a variable
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

// openTelemetry lists the variables that are read here or by OpenTelemetry itself, which of
// some values would make nothing without a word, and of others panics; and those of its own
// exporters that are not in force here. The names lack OTEL_.
var openTelemetry = []struct {
	names, must string
	ok          func(value string) bool
}{
	{"EXPORTER_OTLP_ENDPOINT EXPORTER_OTLP_HEADERS EXPORTER_OTLP_PROTOCOL EXPORTER_OTLP_TRACES_ENDPOINT " +
		"EXPORTER_OTLP_TRACES_HEADERS EXPORTER_OTLP_TRACES_PROTOCOL SERVICE_NAME RESOURCE_ATTRIBUTES",
		"checked elsewhere", func(string) bool { return true }},
	{"TRACES_EXPORTER", "otlp or none", among("otlp", "none")},
	{"SDK_DISABLED", "true or false", func(value string) bool { return among("true", "false")(strings.ToLower(value)) }},
	{"TRACES_SAMPLER", "one of " + strings.Join(samplers, ", "), among(samplers...)},
	{"TRACES_SAMPLER_ARG", "a number from 0 to 1", func(value string) bool {
		share, err := strconv.ParseFloat(value, 64)
		return err == nil && share >= 0 && share <= 1
	}},
	{"BSP_MAX_QUEUE_SIZE BSP_MAX_EXPORT_BATCH_SIZE BSP_SCHEDULE_DELAY BSP_EXPORT_TIMEOUT",
		"a whole number from 1 to 1000000", whole(1)},
	{"SPAN_ATTRIBUTE_COUNT_LIMIT SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT SPAN_EVENT_COUNT_LIMIT SPAN_LINK_COUNT_LIMIT " +
		"EVENT_ATTRIBUTE_COUNT_LIMIT LINK_ATTRIBUTE_COUNT_LIMIT ATTRIBUTE_COUNT_LIMIT ATTRIBUTE_VALUE_LENGTH_LIMIT",
		"a whole number from -1 to 1000000", whole(-1)},
	{"EXPORTER_OTLP_COMPRESSION EXPORTER_OTLP_TRACES_COMPRESSION", "none: spans are not compressed", among("none")},
	{"EXPORTER_OTLP_TIMEOUT EXPORTER_OTLP_TRACES_TIMEOUT", "10000, the milliseconds that an upload has", among("10000")},
	{"EXPORTER_OTLP_CERTIFICATE EXPORTER_OTLP_TRACES_CERTIFICATE EXPORTER_OTLP_CLIENT_CERTIFICATE " +
		"EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE EXPORTER_OTLP_CLIENT_KEY EXPORTER_OTLP_TRACES_CLIENT_KEY",
		"unset: the machine's authorities count, or those of SSL_CERT_FILE, and no client certificate is sent", among()},
}

var samplers = []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off",
	"parentbased_traceidratio"}

func among(values ...string) func(string) bool {
	return func(value string) bool { return slices.Contains(values, value) }
}

// whole returns a check of the lengths, counts and milliseconds that OpenTelemetry reads.
func whole(least int) func(string) bool {
	return func(value string) bool {
		n, err := strconv.Atoi(value)
		return err == nil && n >= least && n <= 1_000_000
	}
}

// checkOpenTelemetry checks openTelemetry.
func checkOpenTelemetry(given Lookup) (errs []error) {
	for _, v := range openTelemetry {
		for name := range strings.FieldsSeq(v.names) {
			if value, _ := given("OTEL_" + name); value != "" && !v.ok(value) {
				errs = append(errs, fmt.Errorf("OTEL_%s must be %s", name, v.must))
			}
		}
	}
	return errs
}

// Unread returns the variables of OpenTelemetry in an environment (NAME=VALUE) that nothing
// reads. They are no errors, because they may be meant for other programs.
func Unread(environ []string) (names []string) {
	var known []string
	for _, v := range openTelemetry {
		known = append(known, strings.Fields(v.names)...)
	}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if short, ours := strings.CutPrefix(name, "OTEL_"); ours && !slices.Contains(known, short) {
			names = append(names, name)
		}
	}
	return names
}

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
