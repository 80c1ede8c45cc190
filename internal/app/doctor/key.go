package doctor

import (
	"context"
	"errors"
	"slices"

	"agegate/internal/app/config"
	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
)

// keyFindings says whether this process and every running gateway can open the secrets in the database.
func keyFindings(ctx context.Context, f facts) ([]Finding, error) {
	used, err := tenant.NewService(f.db, f.key, tenant.CallbackRule{}, nil, nil).CheckSealing(ctx)
	closed := errors.Is(err, credential.ErrSealed)
	if err != nil && !closed {
		return nil, err
	}
	running, err := f.db.Replicas(ctx, f.now.Add(-insight.GoneAfter))
	found := Finding{Name: "secret_key", Check: "secret key", Grade: Problem}
	switch {
	case closed:
		found.Found = config.SecretKeyName + " does not open the secrets in the database"
		found.Advice = "set the key that the database was filled under. If it is lost, so are the signing secrets, keys of " +
			"verifiers, authenticator apps, keys of certificates and mails that wait: " +
			"docs/operations/back-up.md#keep-and-change-the-secret-key says how to replace each"
	case slices.ContainsFunc(running, func(r insight.Replica) bool { return slices.ContainsFunc(used, r.Lacks) }):
		found.Found = "a running gateway cannot open the secrets in the database: there passes end in an error, and no " +
			"webhook is signed"
		found.Advice = "restart every replica with the keys that agegate secret-key rotate --help names"
	case f.cfg.NewSecretKey != nil:
		found.Name, found.Grade, found.Found = "key_change", Warning, "a change of the secret key is under way"
		found.Advice = "finish it as agegate secret-key rotate --help says"
	case slices.ContainsFunc(running, func(r insight.Replica) bool { return r.Lacks(f.key.Names[0]) }):
		found.Found, found.Advice = "the gateway that runs has another key", "set the same key here and there"
	case len(used) == 0:
		found.Grade, found.Found = OK, "it was compared with nothing: the database has no secret of a tenant yet"
	default:
		found.Grade, found.Found = OK, "it opens the secrets in the database"
	}
	findings := []Finding{found}
	if err == nil && len(running) == 0 && f.answers {
		findings = append(findings, Finding{"", "gateway", Problem, "a gateway answers at " + baseURLName +
			", but none runs on this database", "end the gateway that answers and start yours, or correct " +
			config.DatabaseURLName, nil})
	}
	return findings, err
}
