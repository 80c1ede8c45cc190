package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agegate/internal/app/config"
	"agegate/internal/check/age"
	"agegate/internal/check/document/portrait"
	"agegate/internal/check/inference"
	"agegate/internal/rules/session"
)

// unmatched returns why a document's portrait cannot be compared with a face. It
// returns nil if documents cannot be photographed anyway.
func (e *examiner) unmatched(manifest inference.Manifest) error {
	if !slices.Contains(e.Config.DocumentWays, session.WayPhoto) {
		return nil
	}
	_, err := portrait.Load(manifest)
	return err
}

// ForResearch reports whether the estimate was fitted on data for research only.
func ForResearch(tail *inference.TailManifest) bool {
	return tail != nil && strings.Contains(tail.Licence, "non-commercial")
}

// licence reports the terms of the data on which the estimate was fitted.
func (e *examiner) licence(tail *inference.TailManifest) {
	const check = "licence of the estimate"
	switch {
	case ForResearch(tail):
		e.warn(check, "it was fitted on data for non-commercial research: "+tail.Licence, "if you earn money with it, "+
			"take wallets alone or an estimate of your own: docs/guides/go-live.md#commercial-use-and-the-licence-of-the-"+
			"estimate")
	case tail != nil:
		e.ok(check, tail.Licence)
	}
}

// models opens the models like the gateway: files, hashes, ONNX Runtime and the fine-tuned tail.
func (e *examiner) models(context.Context) {
	const check = "models"
	switch {
	case !e.Config.ServesPages():
		e.ok(check, "not needed by the role "+e.Config.Role)
		return
	case e.Config.Estimator == config.EstimatorOff:
		e.warn(check, "the estimator is off: only tenants with --document-only can verify live sessions",
			"set AGEGATE_ESTIMATOR=onnx, unless the gateway is for tests or for wallets alone")
		return
	}
	pool, err := inference.Open(e.Config.ModelsDir, 1)
	if err != nil {
		e.problem(check, err.Error(), "install the package again, or run make models on this machine, and set "+
			"AGEGATE_MODELS_DIR to the directory with the models")
		return
	}
	e.licence(pool.Manifest.Tail)
	unmatched := e.unmatched(pool.Manifest)
	switch err := pool.Close(); {
	case err != nil:
		e.problem(check, err.Error(), "restart the command, and see AGEGATE_MODELS_DIR")
	case pool.Manifest.Tail == nil:
		e.warn(check, "there is no fine-tuned tail: teenagers are estimated years too old",
			"put agetail.json, agefront.onnx and agetail.onnx into AGEGATE_MODELS_DIR; see proof/training.md")
	case unmatched != nil:
		e.warn(check, "documents cannot be photographed: "+unmatched.Error(),
			"put the models of this release into AGEGATE_MODELS_DIR, or leave photo out of AGEGATE_DOCUMENT_WAYS")
	case pool.Manifest.Tail.Second == nil:
		e.warn(check, "the second age model has no scale: make-up makes teenagers pass more often",
			"use the shipped agetail.json, or run agegate-lab fit; see proof/training.md")
	default:
		e.ok(check, fmt.Sprintf("all %d open; models %s, estimate %s", len(pool.Manifest.Models), pool.Manifest.Fingerprint(),
			age.Estimator(pool.Manifest)))
	}
}
