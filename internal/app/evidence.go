package app

import (
	"errors"
	"maps"
	"slices"

	"agegate/internal/app/config"
	"agegate/internal/app/doctor"
	"agegate/internal/backoffice/evidence"
	"agegate/internal/check/age"
	"agegate/internal/check/inference"
	"agegate/internal/rules/credential"
)

// NewEvidenceKey returns the key that signs evidence. It is derived from the secret key and changes with it.
func NewEvidenceKey(sealer *credential.Sealer) (evidence.Key, error) {
	seed, err := sealer.Derive(evidence.KeyContext)
	if err != nil {
		return evidence.Key{}, err
	}
	return evidence.NewKey(seed)
}

// Installation returns what evidence says about the configuration and the models directory. A directory without
// models is not an error: the evidence says that there are none.
func Installation(cfg config.Config) (evidence.Installation, error) {
	about := evidence.Installation{
		Release: cfg.Version, Configuration: cfg.Fingerprint, BaseURL: cfg.BaseURL, Operator: cfg.OperatorName,
		Links:  cfg.OperatorLinks,
		Margin: cfg.Margin, SessionTTL: cfg.SessionTTL, Retention: cfg.Retention, DocumentWays: cfg.DocumentWays,
	}
	if cfg.Estimator == config.EstimatorOff {
		about.EstimatorOff, about.AccuracyGap = true, "off"
		return about, nil
	}
	manifest, err := inference.ReadManifest(cfg.ModelsDir)
	if errors.Is(err, inference.ErrMissing) {
		about.NoModels, about.AccuracyGap = true, "elsewhere"
		return about, nil
	} else if err != nil {
		return about, err
	}
	for _, role := range slices.Sorted(maps.Keys(manifest.Models)) {
		about.Models = append(about.Models, evidence.Model{Role: string(role), SHA256: manifest.Models[role].SHA256})
	}
	about.Estimator = age.Estimator(manifest)
	if manifest.Tail != nil {
		about.Calibration, about.Research = about.Estimator, doctor.ForResearch(manifest.Tail)
	}
	switch err := about.Measured(cfg.ModelsDir); {
	case errors.Is(err, evidence.ErrUnmeasured):
		about.AccuracyGap = "missing"
	case errors.Is(err, evidence.ErrOther):
		about.AccuracyGap = "other"
	case err != nil:
		about.AccuracyGap = "broken"
	}
	return about, nil
}

// evidence builds the evidence service of the dashboard.
func (a *App) evidence(cfg config.Config, sealer *credential.Sealer) (*evidence.Service, error) {
	key, err := NewEvidenceKey(sealer)
	about, unread := Installation(cfg)
	if err := errors.Join(err, unread); err != nil {
		return nil, err
	}
	return evidence.NewService(a.Store, a.Insight, key, about, a.now), nil
}
