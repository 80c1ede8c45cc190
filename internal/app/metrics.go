package app

import (
	"agegate/internal/metrics"
	"agegate/internal/session"
	"agegate/internal/webhook"
)

// newMetrics returns metrics that know every status a session enters by an
// event and every result of a webhook attempt.
func newMetrics() *metrics.Metrics {
	return metrics.New(
		words(session.StatusPending, session.StatusPassed, session.StatusFallback, session.StatusSpoof),
		words(webhook.ClassDelivered, webhook.ClassStatus, webhook.ClassRedirect, webhook.ClassDNS,
			webhook.ClassBlocked, webhook.ClassConnect, webhook.ClassTLS, webhook.ClassTimeout))
}

func words[T ~string](values ...T) []string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = string(value)
	}
	return words
}
