package app

import (
	"agegate/internal/app/metrics"
	"agegate/internal/pages/shopper"
	"agegate/internal/rules/session"
	"agegate/internal/rules/webhook"
)

// newMetrics returns metrics that know all values of their labels: the session statuses that an event enters, the
// events of a document check, the results of a webhook attempt, and the ends of a camera check.
func newMetrics() *metrics.Metrics {
	var documents [][2]string
	for _, event := range session.DocumentEvents() {
		documents = append(documents, [2]string{string(event.Way), string(event.Outcome)})
	}
	return metrics.New(
		words(session.StatusPending, session.StatusPassed, session.StatusFallback, session.StatusSpoof),
		documents,
		words(webhook.ClassDelivered, webhook.ClassStatus, webhook.ClassRedirect, webhook.ClassDNS,
			webhook.ClassBlocked, webhook.ClassConnect, webhook.ClassTLS, webhook.ClassTimeout), shopper.Ends())
}

func words[T ~string](values ...T) []string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = string(value)
	}
	return words
}

// watch publishes the state of the process's parts.
func (a *App) watch() {
	a.metrics.Build(a.replica.Version)
	a.metrics.WatchDatabase(a.Store.Stats)
	a.metrics.WatchQueue(a.Store.QueueState)
	a.metrics.WatchTrust(a.trustState)
	a.metrics.WatchStanding(a.Store.Standing)
	if a.https != nil {
		a.metrics.WatchCertificates(a.https.Ends)
	}
	if a.pages != nil {
		a.metrics.WatchCamera(a.pages.shopper.Load)
	}
}
