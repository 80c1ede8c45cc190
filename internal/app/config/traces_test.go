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
