package account

import (
	"context"
	"errors"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

var (
	// ErrReason is the rule that entering a tenant needs a reason.
	ErrReason = errors.New("must be given")
	// ErrOwnTenant refuses to let an operator enter a tenant of which they are a member.
	ErrOwnTenant = fault.New(fault.Conflict, "You are a member of this tenant")
	errOperator  = fault.New(fault.NotFound, "Not found")
)

// inside reports whether the user is an operator who has entered the tenant and still has a second factor.
func (i Identity) inside(tenantID uuid.UUID, now time.Time) bool {
	l := i.login
	return i.user.Operator && i.Strong() && l.EnteredTenant != nil && *l.EnteredTenant == tenantID &&
		l.EnteredUntil != nil && now.Before(*l.EnteredUntil)
}

// OperatorActor returns the user as an actor who acts as operator.
func (i Identity) OperatorActor() audit.Actor { return audit.Operator(i.user.ID, i.user.Name) }

// EnterTenant lets an operator look into a tenant for EntryTTL with this log-in. It ends the entry into any other
// tenant. The reason is written to the tenant's log. It returns fault.NotFound, ErrOwnTenant, or fault.Invalid with
// the field reason.
func (s *Service) EnterTenant(ctx context.Context, who Identity, tenantID uuid.UUID, reason string) error {
	if !who.user.Operator {
		return errOperator
	}
	broken := audit.CheckNote(reason)
	if reason == "" {
		broken = ErrReason
	}
	if broken != nil {
		return fault.InvalidFields(fault.FieldError{Field: "reason", Err: broken})
	}
	switch _, err := s.store.Membership(ctx, tenantID, who.user.ID); {
	case err == nil:
		return ErrOwnTenant
	case fault.CodeOf(err) != fault.NotFound:
		return err
	}
	now := s.now()
	until := now.Add(EntryTTL)
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		if err := tx.SetEntered(who.login.Hash, &tenantID, &until, now); err != nil {
			return err
		}
		return tx.AppendAudit(audit.Act{
			Scope: audit.OfTenant(tenantID), At: now, Actor: who.OperatorActor(), Action: audit.TenantEnter,
			Target: tenantID.String(), Detail: audit.Detail{Params: map[string]string{
				"reason": reason, "until": until.Format(time.RFC3339),
			}},
		})
	})
}

// LeaveTenant ends the entry made by EnterTenant. Without one it does nothing.
func (s *Service) LeaveTenant(ctx context.Context, who Identity) error {
	left := who.login.EnteredTenant
	now := s.now()
	if left == nil || !who.inside(*left, now) {
		return nil
	}
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		if err := tx.SetEntered(who.login.Hash, nil, nil, now); err != nil {
			return err
		}
		return tx.AppendAudit(audit.Act{
			Scope: audit.OfTenant(*left), At: now, Actor: who.OperatorActor(), Action: audit.TenantLeave, Target: left.String(),
		})
	})
}
