package app

import (
	"context"
	"errors"
	"runtime"

	"agegate/internal/app/config"
	"agegate/internal/check/age"
	"agegate/internal/check/document"
	"agegate/internal/check/inference"
	"agegate/internal/check/photographic"
	"agegate/internal/check/vision"
	"agegate/internal/pages/shopper"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/turn"
)

// A camera check is admitted if the gateway can still process usableRate frames a
// second for each check. With fewer frames, the movement of a turning head is not seen.
// minPlaces is the minimum number of places, even on the slowest machine.
const (
	usableRate = 5
	minPlaces  = 2
)

// estimator performs camera checks. The zero value performs none.
type estimator struct {
	newCapture func(sess session.Session, of tenant.Tenant, assisted bool) shopper.Capture
	places     func() int // how many checks can be served at the same time
	// newDocument starts the check of a photographed document; nil if there is none.
	newDocument    func(sess session.Session, assisted bool) document.PhotoCheck
	documentPlaces func() int // how many documents can be photographed at the same time
}

// spareProcessor sets GOMAXPROCS to at least one more than the turns at the models. Otherwise all of Go's processors
// would compute. Go would then look at the network only every 10 ms, and every frame and every answer would wait for
// that. The operating system shares the cores without such waits.
func spareProcessor(turns int) {
	if runtime.GOMAXPROCS(0) <= turns {
		runtime.GOMAXPROCS(turns + 1)
	}
}

// openEstimator loads the models.
func (a *App) openEstimator(cfg config.Config) (e estimator, err error) {
	if cfg.Estimator == config.EstimatorOff {
		a.log.Warn("the estimator is off: only tenants with --document-only can verify live sessions, by wallet")
		return e, nil
	}
	pool, err := inference.Open(cfg.ModelsDir, cfg.InferenceWorkers, unusedModels(cfg)...)
	if err != nil {
		return e, err
	}
	a.pages.pool = pool
	spareProcessor(cfg.InferenceWorkers)
	a.replica.Models = pool.Manifest.Fingerprint()
	a.metrics.WatchInference(pool.Busy, pool.Size)
	head, estimator := age.NewHead(pool.Manifest), age.Estimator(pool.Manifest)
	if tail := pool.Manifest.Tail; tail != nil {
		a.replica.Calibration = estimator
		a.log.Info("fine-tuned age tail loaded", "data", tail.Data.Name, "pictures", tail.Data.Pictures)
	} else {
		a.log.Warn("no fine-tuned age tail is loaded: the stock model estimates teenagers years too old; see " +
			"proof/training.md")
	}
	a.decides = estimator
	analyzer := vision.NewAnalyzer(pool)
	gate, err := photographic.Load(pool.Manifest)
	if errors.Is(err, photographic.ErrOtherModels) {
		a.log.Warn("drawn faces are not refused: " + err.Error())
	} else if err != nil {
		return e, err
	}
	engine, queue := age.NewEngine(analyzer, head, a.metrics).Refusing(gate), turn.NewQueue(cfg.InferenceWorkers, 0)
	e.places = func() int { return max(minPlaces, queue.Sustains(usableRate)) }
	e.newCapture = func(sess session.Session, of tenant.Tenant, assisted bool) shopper.Capture {
		party := turn.Party{Tenant: sess.TenantID, Session: sess.ID}
		return engine.NewCapture(age.Options{
			TargetAge: sess.TargetAge, Margin: of.Margin(sess.TargetAge, cfg.Margin), Assisted: assisted,
			Turn: func(ctx context.Context) (func(), error) { return queue.Enter(ctx, party) },
		})
	}
	err = a.openDocuments(cfg, &e, analyzer, queue)
	return e, err
}
