package store

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
)

var _ tenant.Store = (*Store)(nil)

// CreateTenant implements tenant.Store.
func (s *Store) CreateTenant(
	ctx context.Context, t tenant.Tenant, keys []tenant.APIKey, secrets []tenant.Secret, act audit.Act,
) error {
	return s.Update(ctx, func(tx *Tx) error {
		if err := tx.db.Create(&t).Error; err != nil {
			return err
		}
		if len(keys) > 0 {
			if err := tx.db.Create(&keys).Error; err != nil {
				return err
			}
		}
		if len(secrets) > 0 {
			if err := tx.db.Table(secretTable).Create(&secrets).Error; err != nil {
				return err
			}
		}
		return tx.AppendAudit(act)
	})
}

// UpdateTenant implements tenant.Store.
func (s *Store) UpdateTenant(
	ctx context.Context, id uuid.UUID, c tenant.Changes, act audit.Act,
) (tenant.Tenant, error) {
	return update(ctx, s, func(tx *Tx) (tenant.Tenant, error) {
		before, err := tx.settings(tx.forChange(), id)
		if err != nil {
			return tenant.Tenant{}, err
		}
		row := c.Apply(before.Tenant)
		if err := tx.db.Select("*").Omit("id", "created_at", "disabled").Updates(&row).Error; err != nil {
			return tenant.Tenant{}, err
		}
		if err := tx.updateBrand(id, c.Brand); err != nil {
			return tenant.Tenant{}, err
		}
		after, err := tx.settings(tx.db, id)
		if err != nil {
			return tenant.Tenant{}, err
		}
		written := act // the function may run again
		written.Detail.Changes = before.ChangesTo(after)
		return after.Tenant, tx.AppendAudit(written)
	})
}

// forChange locks the tenant that the query finds against other changes. Sessions
// of the tenant can still be created: their reference takes a weaker lock.
func (tx *Tx) forChange() *gorm.DB {
	if !tx.postgres {
		return tx.db
	}
	return tx.db.Clauses(clause.Locking{Strength: "NO KEY UPDATE"})
}

// lockTenant locks a tenant, also against new sessions, and returns it.
func (tx *Tx) lockTenant(id uuid.UUID) (tenant.Tenant, error) {
	return take[tenant.Tenant](tx.forUpdate(), "id = ?", id)
}

// settings returns a tenant's settings; db reads the tenant.
func (tx *Tx) settings(db *gorm.DB, id uuid.UUID) (tenant.Settings, error) {
	found, err := take[tenant.Tenant](db, "id = ?", id)
	if err != nil {
		return tenant.Settings{}, err
	}
	look, err := tx.brand(id)
	return tenant.Settings{Tenant: found, Brand: look}, err
}

// SetTenantDisabled implements tenant.Store.
func (s *Store) SetTenantDisabled(ctx context.Context, id uuid.UUID, disabled bool, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error {
		return mustChange(tx.db.Model(&tenant.Tenant{}).Where("id = ?", id).Update("disabled", disabled))
	})
}

// TenantByID implements tenant.Store.
func (s *Store) TenantByID(ctx context.Context, id uuid.UUID) (tenant.Tenant, error) {
	return view(ctx, s, func(tx *Tx) (tenant.Tenant, error) { return tx.Tenant(id) })
}

// Tenant implements session.Tx.
func (tx *Tx) Tenant(id uuid.UUID) (tenant.Tenant, error) {
	return take[tenant.Tenant](tx.db, "id = ?", id)
}

// Terms implements session.Tx. Every creation reads them, so it names only their columns.
func (tx *Tx) Terms(id uuid.UUID) (t tenant.Terms, err error) {
	err = tx.db.Raw("SELECT success_url, cancel_url, webhook_url, free_checks, test_cap FROM tenants WHERE id = ?", id).
		Row().Scan(&t.SuccessURL, &t.CancelURL, &t.WebhookURL, &t.FreeChecks, &t.TestCap)
	return t, err
}

// Tenants implements tenant.Store.
func (s *Store) Tenants(ctx context.Context, after uuid.UUID, limit int) ([]tenant.Tenant, error) {
	return view(ctx, s, func(tx *Tx) ([]tenant.Tenant, error) {
		q := tx.db.Order("created_at, id").Limit(limit)
		if after != uuid.Nil {
			last, err := tx.Tenant(after)
			if err != nil {
				return nil, err
			}
			q = q.Where("(created_at, id) > (?, ?)", last.CreatedAt, after)
		}
		return find[tenant.Tenant](q)
	})
}

// likeText escapes a text for LIKE with the escape character "!".
var likeText = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// contains is the condition that a column contains a text, as pattern makes it, in any
// case. SQLite ignores the case of ASCII letters only.
func (tx *Tx) contains(column string) string {
	if tx.postgres {
		return column + " ILIKE ? ESCAPE '!'"
	}
	return column + " LIKE ? ESCAPE '!'"
}

func pattern(text string) string { return "%" + likeText.Replace(text) + "%" }

// FindTenants implements tenant.Store.
func (s *Store) FindTenants(ctx context.Context, text string, limit int) ([]tenant.Tenant, error) {
	return view(ctx, s, func(tx *Tx) ([]tenant.Tenant, error) {
		q := tx.db.Where(tx.contains("name"), pattern(text))
		if len(text) >= 6 { // as many as tell namesakes apart in a list
			q = q.Or(tx.contains("CAST(id AS text)"), pattern(text))
		}
		if id, err := uuid.Parse(text); err == nil {
			q = q.Or("id = ? OR id = (SELECT tenant_id FROM sessions WHERE id = ?)", id, id)
		}
		return find[tenant.Tenant](q.Order("created_at, id").Limit(limit))
	})
}

// HasTwin implements tenant.Store.
func (s *Store) HasTwin(ctx context.Context, t tenant.Tenant) (bool, error) {
	twins, err := viewAll[tenant.Tenant](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.db.Select("id").Where("name = ? AND id <> ?", t.Name, t.ID).Limit(1)
	})
	return len(twins) > 0, err
}

// TenantNames implements tenant.Store.
func (s *Store) TenantNames(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	return view(ctx, s, func(tx *Tx) (map[uuid.UUID]string, error) {
		names := map[uuid.UUID]string{}
		rows, err := find[tenant.Tenant](tx.db.Select("id", "name").Where("id IN ?", ids))
		for _, t := range rows {
			names[t.ID] = t.Name
		}
		return names, err
	})
}

// Secrets implements tenant.Store.
func (s *Store) Secrets(
	ctx context.Context, tenantID uuid.UUID, livemode bool, kind tenant.SecretKind, now time.Time,
) ([]tenant.Secret, error) {
	return viewAll[tenant.Secret](ctx, s, func(tx *Tx) *gorm.DB {
		return tx.secrets(tenantID, livemode, kind).
			Where("expires_at IS NULL OR expires_at > ?", now).Order("created_at DESC, id DESC")
	})
}

// RotateSecret implements tenant.Store.
func (s *Store) RotateSecret(ctx context.Context, next tenant.Secret, expires time.Time, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error {
		if err := tx.retireActive(next.TenantID, next.Livemode, next.Kind, expires); err != nil {
			return err
		}
		return tx.replaceStaged(next)
	})
}

// StageSecret implements tenant.Store.
func (s *Store) StageSecret(ctx context.Context, next tenant.Secret, act audit.Act) error {
	return s.act(ctx, act, func(tx *Tx) error { return tx.replaceStaged(next) })
}

// PromoteSecret implements tenant.Store.
func (s *Store) PromoteSecret(
	ctx context.Context, tenantID uuid.UUID, livemode bool, kind tenant.SecretKind, expires time.Time, act audit.Act,
) error {
	return s.act(ctx, act, func(tx *Tx) error {
		if err := tx.retireActive(tenantID, livemode, kind, expires); err != nil {
			return err
		}
		return mustChange(tx.secrets(tenantID, livemode, kind).Where("state = ?", tenant.SecretStaged).
			Update("state", tenant.SecretActive))
	})
}

// RetireSecrets implements tenant.Store.
func (s *Store) RetireSecrets(
	ctx context.Context, tenantID uuid.UUID, livemode bool, kind tenant.SecretKind, end time.Time, act audit.Act,
) error {
	return s.act(ctx, act, func(tx *Tx) error {
		return mustChange(tx.secrets(tenantID, livemode, kind).
			Where("state = ? AND expires_at > ?", tenant.SecretRetiring, end).Update("expires_at", end))
	})
}

// AppendAct implements tenant.Store.
func (s *Store) AppendAct(ctx context.Context, act audit.Act) error {
	return s.Update(ctx, func(tx *Tx) error { return tx.AppendAudit(act) })
}

// retireActive makes the active secret retire at expires. Secrets that are retiring
// already are shortened to expires if they would last longer.
func (tx *Tx) retireActive(tenantID uuid.UUID, livemode bool, kind tenant.SecretKind, expires time.Time) error {
	return tx.secrets(tenantID, livemode, kind).
		Where("state = ? OR state = ? AND expires_at > ?", tenant.SecretActive, tenant.SecretRetiring, expires).
		Updates(map[string]any{"state": tenant.SecretRetiring, "expires_at": expires}).Error
}

// replaceStaged deletes a staged secret and inserts next.
func (tx *Tx) replaceStaged(next tenant.Secret) error {
	staged := tx.secrets(next.TenantID, next.Livemode, next.Kind).Where("state = ?", tenant.SecretStaged)
	if err := staged.Delete(&tenant.Secret{}).Error; err != nil {
		return err
	}
	return tx.db.Table(secretTable).Create(&next).Error
}

func (tx *Tx) secrets(tenantID uuid.UUID, livemode bool, kind tenant.SecretKind) *gorm.DB {
	return tx.db.Table(secretTable).
		Where("tenant_id = ? AND livemode = ? AND kind = ?", tenantID, livemode, kind)
}

// mustChange returns fault.NotFound for an update that found no row.
func mustChange(result *gorm.DB) error {
	if changed, err := changed(result); err != nil || changed {
		return err
	}
	return fault.New(fault.NotFound, "Not found")
}

// changed reports whether a conditional statement changed a row.
func changed(result *gorm.DB) (bool, error) {
	return result.RowsAffected > 0, result.Error
}
