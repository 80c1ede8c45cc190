package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"agegate/internal/backoffice/certify"
	"agegate/internal/rules/audit"
)

var _ certify.Store = (*Store)(nil)

type certificationRow struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	TenantID   uuid.UUID
	EndpointID string
	StartedAt  time.Time
	FinishedAt *time.Time
	Passed     bool
	Results    string
}

func (certificationRow) TableName() string { return "certifications" }

type certifiedHostRow struct {
	TenantID  uuid.UUID `gorm:"primaryKey"`
	Host      string    `gorm:"primaryKey"`
	StartedAt time.Time
}

func (certifiedHostRow) TableName() string { return "certified_hosts" }

func fromCertification(r certify.Run) (certificationRow, error) {
	results, err := json.Marshal(r.Results)
	return certificationRow{r.ID, r.TenantID, r.EndpointID, r.StartedAt, r.FinishedAt, r.Passed, string(results)}, err
}

func toCertification(r certificationRow) (certify.Run, error) {
	run := certify.Run{
		ID: r.ID, TenantID: r.TenantID, EndpointID: r.EndpointID, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
		Passed: r.Passed,
	}
	err := json.Unmarshal([]byte(r.Results), &run.Results)
	return run, err
}

// StartCertification implements certify.Store.
func (s *Store) StartCertification(ctx context.Context, r certify.Run, hosts []string, act audit.Act) error {
	row, err := fromCertification(r)
	if err != nil {
		return err
	}
	return s.act(ctx, act, func(tx *Tx) error {
		owner, err := tx.lockTenant(r.TenantID)
		if err != nil {
			return err
		}
		if owner.Disabled {
			return certify.ErrDisabled
		}
		if err := tx.claimHosts(r.TenantID, hosts, row.StartedAt); err != nil {
			return err
		}
		if err := tx.db.Create(&row).Error; err != nil {
			return err
		}
		return tx.db.Exec(`DELETE FROM certifications WHERE tenant_id = ? AND id NOT IN (
			SELECT id FROM certifications WHERE tenant_id = ? ORDER BY started_at DESC, id DESC LIMIT ?)`,
			r.TenantID, r.TenantID, certify.MaxKept).Error
	})
}

// claimHosts records that a tenant's hosts are tested now. The tenant's row must
// be locked.
func (tx *Tx) claimHosts(tenantID uuid.UUID, hosts []string, now time.Time) error {
	err := tx.db.Delete(&certifiedHostRow{}, "tenant_id = ? AND started_at <= ?", tenantID, now.Add(-certify.Pause)).Error
	if err != nil {
		return err
	}
	var recent int64
	err = tx.db.Model(&certifiedHostRow{}).Where("tenant_id = ? AND host IN ?", tenantID, hosts).Count(&recent).Error
	if err != nil {
		return err
	}
	if recent > 0 {
		return certify.ErrTooSoon
	}
	if len(hosts) == 0 {
		return nil
	}
	rows := make([]certifiedHostRow, len(hosts))
	for i, host := range hosts {
		rows[i] = certifiedHostRow{tenantID, host, now}
	}
	return tx.db.Create(&rows).Error
}

// FinishCertification implements certify.Store.
func (s *Store) FinishCertification(ctx context.Context, r certify.Run) (bool, error) {
	row, err := fromCertification(r)
	if err != nil {
		return false, err
	}
	return update(ctx, s, func(tx *Tx) (bool, error) {
		return changed(tx.db.Model(&certificationRow{}).Where("id = ? AND finished_at IS NULL", r.ID).
			Updates(map[string]any{"finished_at": row.FinishedAt, "passed": row.Passed, "results": row.Results}))
	})
}

// LastCertification implements certify.Store.
func (s *Store) LastCertification(ctx context.Context, tenantID uuid.UUID, endpointID string) (certify.Run, error) {
	return view(ctx, s, func(tx *Tx) (certify.Run, error) {
		var row certificationRow
		err := tx.db.Where("tenant_id = ? AND endpoint_id = ?", tenantID,
			endpointID).Order("started_at DESC, id DESC").Take(&row).Error
		if err != nil {
			return certify.Run{}, err
		}
		return toCertification(row)
	})
}
