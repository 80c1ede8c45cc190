package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Traces says where traces are sent, by the standard OTEL_ variables. OpenTelemetry
// itself reads those about sampling, batches and the resource.
type Traces struct {
	Endpoint string            // address of the collector for traces; empty: none are made
	Headers  map[string]string // may hold a token: never logged
}

// setTraces reads the variables. A variable for traces alone takes precedence over the
// general one.
func (c *Config) setTraces(lookup Lookup) []error {
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
	return errs
}

func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || err != nil || name == "" || strings.ContainsAny(value, "\r\n") {
			return nil, errors.New("must be name=value pairs separated by commas, with values percent-encoded")
		}
		headers[name] = value
	}
	return headers, nil
}
