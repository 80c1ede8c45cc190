package app

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"

	"agegate/internal/app/config"
	"agegate/internal/check/document"
	"agegate/internal/check/document/photo"
	"agegate/internal/check/document/portrait"
	"agegate/internal/check/document/reader"
	"agegate/internal/check/document/wallet"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/turn"
	"agegate/internal/rules/webhook"
)

// documentRate is how many pictures a second are needed to guide a person who holds a document to the camera.
const documentRate = 1

// unusedModels returns the models that the gateway need not load. The face matcher
// takes much memory, and is not needed if no document can be photographed.
func unusedModels(cfg config.Config) []inference.Model {
	if slices.Contains(cfg.DocumentWays, session.WayPhoto) {
		return nil
	}
	return []inference.Model{inference.Matcher}
}

// openDocuments prepares the checks of photographed documents if the operator
// allows them and the faces can be compared.
func (a *App) openDocuments(cfg config.Config, e *estimator, analyzer vision.Analyzer, frames *turn.Queue) error {
	if !slices.Contains(cfg.DocumentWays, session.WayPhoto) {
		return nil
	}
	reference, err := portrait.Load(a.pages.pool.Manifest)
	if errors.Is(err, portrait.ErrOtherModels) || errors.Is(err, portrait.ErrNoMatcher) {
		a.log.Warn("documents cannot be photographed: " + err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	zones, err := reader.New()
	if err != nil {
		return err
	}
	// The frames of age checks have other turns: one picture takes several times as long as
	// a frame, and the frames would have to wait.
	engine, pictures := photo.NewEngine(zones, analyzer, a.metrics, reference),
		turn.NewQueue(max(1, cfg.InferenceWorkers/2), 0)
	e.documentPlaces = func() int { return max(minPlaces, pictures.Sustains(documentRate)) }
	e.newDocument = func(sess session.Session, assisted bool) document.PhotoCheck {
		party := turn.Party{Tenant: sess.TenantID, Session: sess.ID}
		return engine.NewCheck(photo.Options{
			TargetAge: sess.TargetAge, Assisted: assisted, Specimens: !sess.Livemode, Now: a.now,
			DocumentTurn: func(ctx context.Context) (func(), error) { return pictures.Enter(ctx, party) },
			FaceTurn:     func(ctx context.Context) (func(), error) { return frames.Enter(ctx, party) },
		})
	}
	return nil
}

// buildDocuments builds the enabled ways of the document check.
func (a *App) buildDocuments(cfg config.Config, sealer *credential.Sealer, e estimator) (err error) {
	if e.newDocument != nil {
		a.pages.photos = document.NewPhotos(a.Sessions, e.newDocument)
	}
	if slices.Contains(cfg.DocumentWays, session.WayWallet) {
		a.pages.wallets, err = document.NewWallets(a.Sessions, a.Store, sealer,
			document.NewStatusLists(statusLists(cfg), a.now),
			rand.Reader, a.now)
	}
	return err
}

// statusLists returns the function that fetches an issuer's status list from a public address.
func statusLists(cfg config.Config) func(context.Context, string) ([]byte, error) {
	client := webhook.NewClient(nil, cfg.NAT64Prefixes)
	return func(ctx context.Context, url string) ([]byte, error) {
		return client.Get(ctx, url, wallet.StatusListTypes, wallet.MaxStatusListBytes)
	}
}
