package account

import (
	"context"
	"strings"

	"agegate/internal/backoffice/mail"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// InviteOwnerByMail is like InviteOwner, and also sends the link to an e-mail address,
// in the name of an operator. It also returns fault.Invalid with the field email, and
// mail.ErrTooMany.
func (s *Service) InviteOwnerByMail(
	ctx context.Context, who Identity, tenantID uuid.UUID, email, tenantName string,
) (string, error) {
	message, err := invitation(who.user, tenantID, tenantName, email)
	if err != nil {
		return "", fault.InvalidFields(fault.FieldError{Field: "email", Err: err})
	}
	return s.inviteOwner(ctx, who.OperatorActor(), tenantID, message)
}

// invitation returns the message that takes an invitation to an address, or what is wrong
// with the address.
func invitation(by User, tenantID uuid.UUID, tenantName, email string) (*mail.Message, error) {
	email = strings.TrimSpace(email)
	return &mail.Message{Kind: mail.Invitation, TenantID: &tenantID, To: email, Locale: by.Locale, Tenant: tenantName,
		By: by.Name}, checkEmail(email)
}

// post puts the message of a link into the outbox, if mail is sent at all. It is sent only while the link works.
func (s *Service) post(tx Tx, m mail.Message, link Link) error {
	if s.outbox == nil {
		return nil
	}
	made, err := s.outbox.Compose(m, link.ExpiresAt.Sub(s.now()))
	if err != nil {
		return err
	}
	made.Link = link.Hash
	return tx.InsertMail(made)
}
