package app

import (
	"agegate/internal/app/metrics"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
)

// newMetrics returns metrics that know all values of the labels: session statuses
// entered by an event, events of a document check, and results of a webhook
// attempt.
func newMetrics() *metrics.Metrics {
	var documents [][2]string
	for _, event := range session.DocumentEvents() {
		documents = append(documents, [2]string{string(event.Way), string(event.Outcome)})
	}
	return metrics.New(
		words(session.StatusPending, session.StatusPassed, session.StatusFallback, session.StatusSpoof),
		documents,
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
