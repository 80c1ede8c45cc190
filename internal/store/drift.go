package store

import (
	"context"
	"encoding/json"
	"time"

	"gorm.io/gorm/clause"

	"agegate/internal/backoffice/drift"
	"agegate/internal/rules/audit"
)

var (
	_ drift.Store = (*Store)(nil)
	_ drift.Tx    = (*Tx)(nil)
)

type driftHourRow struct {
	Hour      time.Time `gorm:"primaryKey"`
	Family    string    `gorm:"primaryKey"`
	Estimator string    `gorm:"primaryKey"`
	Checks    int64
	Estimates int64
	Counts    string
}

func (driftHourRow) TableName() string { return "drift_hours" }

func toDriftHour(r driftHourRow) (drift.Hour, error) {
	h := drift.Hour{Hour: r.Hour, Family: drift.Family(r.Family), Estimator: r.Estimator}
	err := json.Unmarshal([]byte(r.Counts), &h.Counts)
	return h, err
}

type driftStateRow struct {
	ID     int     `gorm:"primaryKey"`
	Raised float64 // 0; release 0.2 raised the margin by these years
	State  string
}

func (driftStateRow) TableName() string { return "drift_state" }

func toDriftState(r driftStateRow) (s drift.State, err error) {
	if r.State != "" {
		err = json.Unmarshal([]byte(r.State), &s)
	}
	return s, err
}

// UpdateDrift implements drift.Store.
func (s *Store) UpdateDrift(ctx context.Context, fn func(tx drift.Tx, state *drift.State) (*audit.Act, error)) error {
	return s.Update(ctx, func(tx *Tx) error {
		first := driftStateRow{ID: 1, State: "{}"}
		if err := tx.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&first).Error; err != nil {
			return err
		}
		row, err := take[driftStateRow](tx.forUpdate(), "id = 1")
		if err != nil {
			return err
		}
		state, err := toDriftState(row)
		if err != nil {
			return err
		}
		act, err := fn(tx, &state)
		if err != nil {
			return err
		}
		text, err := json.Marshal(state)
		if err != nil {
			return err
		}
		err = tx.db.Model(&driftStateRow{}).Where("id = 1").Update("state", string(text)).Error
		if err != nil || act == nil {
			return err
		}
		return tx.AppendAudit(*act)
	})
}

// DriftState implements drift.Store.
func (s *Store) DriftState(ctx context.Context) (drift.State, error) {
	return view(ctx, s, func(tx *Tx) (drift.State, error) {
		rows, err := find[driftStateRow](tx.db)
		if err != nil || len(rows) == 0 {
			return drift.State{}, err
		}
		return toDriftState(rows[0])
	})
}

// AddDriftHour implements drift.Tx.
func (tx *Tx) AddDriftHour(h drift.Hour) error {
	found, err := find[driftHourRow](tx.db.Where("hour = ? AND family = ? AND estimator = ?", h.Hour, string(h.Family),
		h.Estimator))
	if err != nil {
		return err
	}
	for _, row := range found { // at most one
		before, err := toDriftHour(row)
		if err != nil {
			return err
		}
		h.Counts = h.Add(before.Counts)
	}
	text, err := json.Marshal(h.Counts)
	if err != nil {
		return err
	}
	row := driftHourRow{h.Hour, string(h.Family), h.Estimator, h.Checks(), h.Estimates(), string(text)}
	return tx.db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error
}

// DriftHours implements drift.Tx.
func (tx *Tx) DriftHours(since time.Time) ([]drift.Hour, error) {
	rows, err := find[driftHourRow](tx.db.Where("hour >= ?", since).Order("hour DESC, family, estimator"))
	if err != nil {
		return nil, err
	}
	hours := make([]drift.Hour, len(rows))
	for i, row := range rows {
		if hours[i], err = toDriftHour(row); err != nil {
			return nil, err
		}
	}
	return hours, nil
}

// DriftHours implements drift.Store.
func (s *Store) DriftHours(ctx context.Context, since time.Time) ([]drift.Hour, error) {
	return view(ctx, s, func(tx *Tx) ([]drift.Hour, error) { return tx.DriftHours(since) })
}

// PruneDrift implements drift.Store.
func (s *Store) PruneDrift(ctx context.Context, before time.Time) error {
	return s.Update(ctx, func(tx *Tx) error { return tx.db.Delete(&driftHourRow{}, "hour < ?", before).Error })
}
