package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/insight"
	"agegate/internal/backoffice/mail"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
)

// alertLife is how long the delivery of an alert's mail is tried.
const alertLife = 24 * time.Hour

// maxRecipients is the largest number of members who get the mail of one alert.
const maxRecipients = 20

// alertStore is what alerts need of the database.
type alertStore interface {
	Endpoints(ctx context.Context, scope webhook.Scope) ([]webhook.Failing, error)
	Members(ctx context.Context, tenantIDs ...uuid.UUID) ([]account.Member, error)
	Alert(ctx context.Context, tenantID uuid.UUID, kind mail.Kind, subject string, since time.Time,
		mails []mail.Mail) (bool, error)
	EndAlert(ctx context.Context, tenantID uuid.UUID, kind mail.Kind, subject string) error
}

// alerts mails a tenant's staff about each problem, once.
type alerts struct {
	store   alertStore
	tenants *tenant.Service
	insight *insight.Service
	outbox  *mail.Outbox
	url     string
	wake    func()
}

// look sends the mails about new problems. If it fails for one tenant, it goes on with the others.
func (a *alerts) look(ctx context.Context) error {
	failed := []error{a.endpoints(ctx)}
	for batch, err := range a.tenants.All(ctx) {
		if err != nil {
			failed = append(failed, err)
			break
		}
		for _, t := range batch {
			if err := a.credit(ctx, t); err != nil {
				failed = append(failed, fmt.Errorf("tenant %s: %w", t.ID, err))
			}
		}
	}
	return errors.Join(failed...)
}

// endpoints sends the alerts about disabled endpoints.
func (a *alerts) endpoints(ctx context.Context) error {
	all, err := a.store.Endpoints(ctx, webhook.OfAll())
	failed := []error{err}
	for _, e := range all {
		if e.DisabledAt == nil {
			continue
		}
		t, err := a.tenants.Tenant(ctx, e.TenantID)
		if err == nil {
			err = a.send(ctx, t, account.Develop, e.ID, *e.DisabledAt, mail.Message{
				Kind: mail.EndpointDisabled, Host: e.Host(), Link: a.url + "/dashboard/" + e.TenantID.String() + "/" +
					audit.Mode(e.Livemode) + "/webhooks",
			})
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("tenant %s: %w", e.TenantID, err))
		}
	}
	return errors.Join(failed...)
}

// credit sends the alert that fewer checks are left than the tenant's threshold.
func (a *alerts) credit(ctx context.Context, t tenant.Tenant) error {
	if t.AlertBelow == nil || t.Disabled {
		return nil
	}
	allowance, err := a.insight.Allowance(ctx, t.ID)
	if err != nil {
		return err
	}
	if allowance.Unlimited || allowance.Left() >= *t.AlertBelow {
		return a.store.EndAlert(ctx, t.ID, mail.CreditLow, "")
	}
	// The time is the same for every call, so that one shortage is one alert.
	return a.send(ctx, t, account.Own, "", t.CreatedAt, mail.Message{
		Kind: mail.CreditLow, Left: allowance.Left(), Link: a.url + "/dashboard/" + t.ID.String() + "/billing",
	})
}

// send mails a message to the members who have a right, unless the same alert was sent before.
func (a *alerts) send(
	ctx context.Context, t tenant.Tenant, right account.Right, subject string, since time.Time, m mail.Message,
) error {
	members, err := a.store.Members(ctx, t.ID)
	if err != nil {
		return err
	}
	var mails []mail.Mail
	for _, member := range members {
		if !member.Role.May(right) || member.User.DisabledAt != nil || member.User.Email == account.NoEmail ||
			len(mails) == maxRecipients {
			continue
		}
		m.TenantID, m.Tenant, m.To, m.Locale = &t.ID, t.Name, member.User.Email, member.User.Locale
		made, err := a.outbox.Compose(m, alertLife)
		if err != nil {
			return err
		}
		mails = append(mails, made)
	}
	if len(mails) == 0 {
		return nil // nothing is recorded, so that a member who joins later still gets it
	}
	sent, err := a.store.Alert(ctx, t.ID, m.Kind, subject, since, mails)
	if sent {
		a.wake()
	}
	return err
}
