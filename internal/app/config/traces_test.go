package config

import (
	"strings"
	"testing"
)

func TestTraces(t *testing.T) {
	const own, all = "OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"
	for _, tt := range []struct {
		env      map[string]string
		endpoint string
		wrong    string
	}{
		{nil, "", ""},
		{map[string]string{all + "ENDPOINT": "http://c:4318"}, "http://c:4318/v1/traces", ""},
		{map[string]string{all + "ENDPOINT": "https://c/base/", own + "PROTOCOL": "http/protobuf"},
			"https://c/base/v1/traces", ""},
		{map[string]string{all + "ENDPOINT": "http://c", own + "ENDPOINT": "http://t/x"}, "http://t/x", ""},
		{map[string]string{all + "ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "TRUE"}, "", ""},
		{map[string]string{all + "ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, "", ""},
		{map[string]string{all + "ENDPOINT": "canary:4317"}, "", all + "ENDPOINT must be"},
		{map[string]string{all + "ENDPOINT": "http://c", all + "PROTOCOL": "grpc"}, "", all + "PROTOCOL must be"},
		{map[string]string{all + "ENDPOINT": "http://c", all + "HEADERS": "canary"}, "", all + "HEADERS must be"},
		{map[string]string{all + "ENDPOINT": "http://c", all + "HEADERS": "a b=canary"}, "", all + "HEADERS must be"},
		{map[string]string{all + "ENDPOINT": "http://c", all + "HEADERS": "a=%00canary"}, "", all + "HEADERS must be"},
		{map[string]string{all + "ENDPOINT": " http://c\n", "OTEL_SDK_DISABLED": "false", "OTEL_TRACES_EXPORTER": "otlp",
			"OTEL_BSP_MAX_QUEUE_SIZE": "9", "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
			"OTEL_TRACES_SAMPLER_ARG": "0.5", "OTEL_SPAN_LINK_COUNT_LIMIT": "-1"}, "http://c/v1/traces", ""},
		{map[string]string{all + "ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "console"}, "",
			"OTEL_TRACES_EXPORTER must be"},
		{map[string]string{all + "ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "yes"}, "", "OTEL_SDK_DISABLED must be"},
		{map[string]string{all + "ENDPOINT": "http://c", "OTEL_TRACES_SAMPLER": "nonsense"}, "",
			"OTEL_TRACES_SAMPLER must be"},
		{map[string]string{all + "ENDPOINT": "http://c", "OTEL_TRACES_SAMPLER_ARG": "NaN"}, "",
			"OTEL_TRACES_SAMPLER_ARG must"},
		{map[string]string{all + "ENDPOINT": "http://c", "OTEL_BSP_MAX_QUEUE_SIZE": "-1"}, "",
			"OTEL_BSP_MAX_QUEUE_SIZE must"},
		{map[string]string{all + "ENDPOINT": "http://c", "OTEL_BSP_MAX_QUEUE_SIZE": "9999999999999"}, "",
			"QUEUE_SIZE must"},
		{map[string]string{all + "ENDPOINT": "http://c", "OTEL_BSP_MAX_QUEUE_SIZE": "abc"}, "",
			"OTEL_BSP_MAX_QUEUE_SIZE must"},
		{map[string]string{all + "ENDPOINT": "http://c", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "-1"}, "", "BATCH_SIZE must be"},
		{map[string]string{all + "ENDPOINT": "http://c", all + "TIMEOUT": "10000", own + "COMPRESSION": "none"},
			"http://c/v1/traces", ""},
		{map[string]string{all + "ENDPOINT": "http://c", all + "CERTIFICATE": "/canary"}, "", all + "CERTIFICATE must be"},
		{map[string]string{all + "ENDPOINT": "http://c", own + "CERTIFICATE": "/canary"}, "", own + "CERTIFICATE must be"},
		{map[string]string{all + "ENDPOINT": "http://c", own + "CLIENT_KEY": "/canary"}, "", own + "CLIENT_KEY must be"},
		{map[string]string{all + "ENDPOINT": "http://c", all + "TIMEOUT": "3000"}, "", all + "TIMEOUT must be"},
		{map[string]string{all + "ENDPOINT": "http://c", own + "TIMEOUT": "canary"}, "", own + "TIMEOUT must be"},
		{map[string]string{all + "ENDPOINT": "http://c", all + "COMPRESSION": "gzip"}, "", all + "COMPRESSION must be"},
		{map[string]string{all + "ENDPOINT": "http://c", "OTEL_ATTRIBUTE_COUNT_LIMIT": "many"}, "", "COUNT_LIMIT must be"},
		{map[string]string{all + "ENDPOINT": "http://c", "OTEL_SPAN_EVENT_COUNT_LIMIT": "1.5"}, "", "COUNT_LIMIT must be"},
	} {
		c, err := Load(lookup(tt.env))
		if c.Traces.Endpoint != tt.endpoint || (err != nil) != (tt.wrong != "") {
			t.Errorf("%v: %q, %v", tt.env, c.Traces.Endpoint, err)
		}
		if err != nil && (!strings.Contains(err.Error(), tt.wrong) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("%v: %v", tt.env, err)
		}
	}
}

// TestUnreadTraces: every variable that OpenTelemetry's code reads is checked or known, and
// the names of all others are returned.
func TestUnreadTraces(t *testing.T) {
	known := []string{"OTEL_SERVICE_NAME=x", "OTEL_RESOURCE_ATTRIBUTES=x", "OTEL_BSP_SCHEDULE_DELAY=1",
		"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=a=b", "OTEL_EXPORTER_OTLP_TIMEOUT=10000"}
	if got := Unread(append(known, "OTELX=y", "PATH=OTEL_")); got != nil {
		t.Errorf("%q are told as unread", got)
	}
	got := strings.Join(Unread(append(known, "OTEL_TRACES_SAMPLR=canary", "OTEL_PROPAGATORS=b3")), " ")
	if got != "OTEL_TRACES_SAMPLR OTEL_PROPAGATORS" {
		t.Errorf("unread: %s", got)
	}
}
