package move

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// sealedIn are the columns whose values are sealed under the secret key. In a file
// they are in plain: the file as a whole is sealed under its passphrase.
var sealedIn = map[string]struct {
	column  string
	context func(Row) string
}{
	"tenant_secrets": {"sealed", func(r Row) string {
		live, _ := r["livemode"].(bool)
		kind, _ := r["kind"].(string)
		return tenant.SealContext(idOf(r, "id"), idOf(r, "tenant_id"), live, tenant.SecretKind(kind))
	}},
	"idempotency_claims": {"sealed_link", func(r Row) string { return session.LinkContext(idOf(r, "session_id")) }},
	"verifiers":          {"sealed", func(r Row) string { return credential.VerifierContext(idOf(r, "id").String()) }},
}

func idOf(r Row, column string) uuid.UUID {
	text, _ := r[column].(string)
	id, _ := uuid.Parse(text) // an invalid one opens nothing
	return id
}

// unseal opens the record's sealed value in place. It reports false for a record
// that nobody can use any more: it has ended, and its value does not open.
func (s *Service) unseal(r Record) (bool, error) {
	in, ok := sealedIn[r.Table]
	if !ok {
		return true, nil
	}
	sealed, _ := r.Row[in.column].([]byte)
	plain, err := s.sealer.Open(sealed, in.context(r.Row))
	if errors.Is(err, credential.ErrSealed) {
		if end, ok := r.Row["expires_at"].(time.Time); ok && !s.now().Before(end) {
			return false, nil
		}
	}
	r.Row[in.column] = plain
	return true, err
}

// seal seals the record's plain value in place.
func (s *Service) seal(r Record) (err error) {
	in, ok := sealedIn[r.Table]
	if !ok {
		return nil
	}
	plain, ok := r.Row[in.column].([]byte)
	if !ok {
		return ErrDamaged
	}
	r.Row[in.column], err = s.sealer.Seal(plain, in.context(r.Row))
	return err
}
