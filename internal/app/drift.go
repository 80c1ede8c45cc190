package app

import "agegate/internal/app/metrics"

// driftIndexes returns the stability indexes for the metrics.
func (a *App) driftIndexes() (indexes []metrics.DriftIndex) {
	for family, standing := range a.Drift.Known().Families {
		indexes = append(indexes,
			metrics.DriftIndex{Browsers: string(family), Of: "estimates", Index: standing.Ages.Index},
			metrics.DriftIndex{Browsers: string(family), Of: "outcomes", Index: standing.Outcomes.Index})
	}
	return indexes
}
