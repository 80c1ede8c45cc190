package doctor

import (
	"context"
	"errors"
	"fmt"

	"agegate/internal/app/config"
	"agegate/internal/check/age/calibration"
	"agegate/internal/check/inference"
)

// models opens the models as the gateway does: files, hashes, ONNX Runtime and the
// calibration.
func (e *examiner) models(context.Context) {
	const check = "models"
	switch {
	case !e.Config.ServesPages():
		e.ok(check, "not needed by the role "+e.Config.Role)
		return
	case e.Config.Estimator == config.EstimatorOff:
		e.warn(check, "the estimator is off: live sessions cannot be verified", "set AGEGATE_ESTIMATOR=onnx, unless this is for tests alone")
		return
	}
	pool, err := inference.Open(e.Config.ModelsDir, 1)
	if err != nil {
		e.problem(check, err.Error(), "run make models on this machine, and set AGEGATE_MODELS_DIR to the directory that it filled")
		return
	}
	_, file, err := calibration.LoadHead(e.Config.ModelsDir, pool.Manifest)
	switch err = errors.Join(err, pool.Close()); {
	case errors.Is(err, calibration.ErrMissing):
		e.warn(check, "there is no calibration: teenagers are estimated years too old", "put calibration.json into AGEGATE_MODELS_DIR; see agegate calibrate --help")
	case err != nil:
		e.problem(check, err.Error(), "replace the calibration in AGEGATE_MODELS_DIR by the one that was fitted on these models")
	default:
		e.ok(check, fmt.Sprintf("all %d open; models %s, calibration %s", len(pool.Manifest.Models), pool.Manifest.Fingerprint(), file.Fingerprint()))
	}
}
