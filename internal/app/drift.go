package app

import (
	"agegate/internal/app/config"
	"agegate/internal/app/metrics"
	"agegate/internal/backoffice/drift"
)

// buildDrift builds the governor of drift unless it is off. It comes after the
// estimator, which it watches.
func (a *App) buildDrift(cfg config.Config) {
	if cfg.DriftStep == 0 {
		return
	}
	a.Drift = drift.NewService(a.Store, drift.Config{
		Step: cfg.DriftStep, Margin: cfg.AgeMargin, Estimator: a.decides, Now: a.now, Logger: a.log,
	})
}

// raised returns the years that the governor of drift adds to the margin now.
func (a *App) raised() float64 {
	if a.Drift == nil {
		return 0
	}
	return a.Drift.Raised()
}

// driftIndexes returns what the metrics say of the governor.
func (a *App) driftIndexes() (indexes []metrics.DriftIndex, raised float64) {
	state := a.Drift.Known()
	for family, standing := range state.Families {
		indexes = append(indexes,
			metrics.DriftIndex{Browsers: string(family), Of: "estimates", Index: standing.Ages.Index},
			metrics.DriftIndex{Browsers: string(family), Of: "outcomes", Index: standing.Outcomes.Index})
	}
	return indexes, state.Raised
}
