package door

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics count what the door decides, without a label that names a visitor.
type metrics struct {
	registry                           *prometheus.Registry
	requests, sessions, passes, tokens *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string, outcomes ...string) *prometheus.CounterVec {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"outcome"})
		for _, outcome := range outcomes {
			vec.WithLabelValues(outcome) // shown from the start
		}
		m.registry.MustRegister(vec)
		return vec
	}
	m.requests = counter("door_requests_total", "Requests by what the door said.",
		"free", "pass", "refused", "robot", "blocked")
	m.sessions = counter("door_sessions_total", "Presses of the button.", "created", "reused", "limited", "failed")
	m.passes = counter("door_passes_total", "Passes given, and returns refused.", "checked", "unchecked", "refused")
	m.tokens = counter("door_tokens_total", "Codes of clients.", "exchanged", "refused")
	return m
}

// Metrics serves the counters to Prometheus.
func (d *Door) Metrics() http.Handler {
	return promhttp.HandlerFor(d.metrics.registry, promhttp.HandlerOpts{})
}
