package account

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// StoredProvider is a tenant's identity provider as it is stored.
type StoredProvider struct {
	TenantID    uuid.UUID
	Name        string
	Issuer      string
	ClientID    string
	Sealed      []byte // the client secret
	GroupsClaim string
	Grants      []Grant // without the tenant
	Required    bool
}

// DefaultGroupsClaim is the claim that holds groups where no other is chosen.
const DefaultGroupsClaim = "groups"

// Limits of a provider's settings, in characters.
const (
	MaxProviderName = 60
	MaxIssuer       = 500
	MaxClientID     = 200
	MaxClientSecret = 1000
	MaxGroup        = 200
	maxGroups       = 20 // of one role
)

// ProviderContext returns what the client secret of a tenant's provider is sealed with.
func ProviderContext(tenantID string) string { return "provider " + tenantID }

// unseal returns a stored provider ready for use.
func (s *Service) unseal(stored StoredProvider) (Provider, error) {
	secret, err := s.sealer.Open(stored.Sealed, ProviderContext(stored.TenantID.String()))
	p := Provider{
		TenantID: stored.TenantID, Name: stored.Name, Issuer: stored.Issuer, ClientID: stored.ClientID,
		Secret:      string(secret),
		GroupsClaim: stored.GroupsClaim, Required: stored.Required,
	}
	for _, g := range stored.Grants {
		g.TenantID = stored.TenantID
		p.Grants = append(p.Grants, g)
	}
	return p, err
}

// TenantProvider returns the tenant's provider, or fault.NotFound.
func (s *Service) TenantProvider(ctx context.Context, access Access) (StoredProvider, error) {
	return s.store.Provider(ctx, access.tenantID)
}

// CheckProvider checks the settings of a provider, of a tenant or of the instance.
// insecure allows an http issuer. It returns fault.Invalid with the fields name,
// issuer, client_id, secret, groups_claim and groups.
func CheckProvider(p Provider, insecure bool) error {
	var broken []fault.FieldError
	refuse := func(field string, err error) {
		broken = append(broken, fault.FieldError{Field: field, Err: err})
	}
	if checkName(p.Name) != nil || utf8.RuneCountInString(p.Name) > MaxProviderName {
		refuse("name", ErrName)
	}
	if !isIssuer(p.Issuer, insecure) {
		refuse("issuer", ErrIssuer)
	}
	if !visible(p.ClientID, MaxClientID) {
		refuse("client_id", ErrClientID)
	}
	if p.Secret == "" || len(p.Secret) > MaxClientSecret || !utf8.ValidString(p.Secret) {
		refuse("secret", ErrSecret)
	}
	if !visible(p.GroupsClaim, MaxGroup) {
		refuse("groups_claim", ErrClaim)
	}
	if len(p.Grants) == 0 {
		refuse("groups", ErrNoGroups)
	}
	if broken != nil {
		return fault.InvalidFields(broken...)
	}
	return nil
}

// isIssuer reports whether an address can be an issuer's. insecure allows http.
func isIssuer(address string, insecure bool) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http" && insecure) && u.Host != "" && u.User == nil &&
		u.RawQuery == "" && u.Fragment == "" && len(address) <= MaxIssuer
}

// visible reports whether text has 1 to most characters, all of them visible.
func visible(text string, limit int) bool {
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) }
	return text != "" && utf8.ValidString(text) && utf8.RuneCountInString(text) <= limit &&
		!strings.ContainsFunc(text, hidden)
}

// GroupsField is the field of a role's groups in fault.FieldError.
func GroupsField(role Role) string { return "groups_" + string(role) }

// ParseGroups reads the groups of a role, one a line.
func ParseGroups(role Role, lines string) ([]Grant, error) {
	var grants []Grant
	for line := range strings.Lines(lines) {
		group := strings.TrimSpace(line)
		if group == "" {
			continue
		}
		if !visible(group, MaxGroup) || len(grants) == maxGroups {
			return nil, ErrGroup
		}
		grants = append(grants, Grant{Group: group, Role: role})
	}
	return grants, nil
}

// SetProvider makes p the tenant's provider, in place of any earlier one, once its
// discovery document can be read. Without a secret, the current one is kept. Members
// created by another issuer are removed.
//
// It returns fault.Invalid with the fields of CheckProvider and required, a
// *ProviderError, or ErrLastOwner if the tenant would have no owner left.
func (s *Service) SetProvider(ctx context.Context, access Access, p Provider) error {
	before, err := s.store.Provider(ctx, access.tenantID)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return err
	}
	p.TenantID = access.tenantID
	newSecret := p.Secret != ""
	if had, err := s.unseal(before); !newSecret && before.Sealed != nil && err == nil && had.Issuer == p.Issuer {
		p.Secret = had.Secret // never sent to another issuer
	}
	if err := CheckProvider(p, s.insecure); err != nil {
		return err
	}
	if p.Required && !before.Required && (access.user.Managed() || !access.Strong()) {
		return fault.InvalidFields(fault.FieldError{Field: "required", Err: ErrOwnFactor})
	}
	if err := s.openID.Check(ctx, p, Caller{User: access.user.ID}); err != nil {
		return err
	}
	sealed, err := s.sealer.Seal([]byte(p.Secret), ProviderContext(p.TenantID.String()))
	if err != nil {
		return err
	}
	return s.changeProvider(ctx, access, audit.ProviderUpdate, &StoredProvider{
		TenantID: p.TenantID, Name: p.Name, Issuer: p.Issuer, ClientID: p.ClientID, Sealed: sealed,
		GroupsClaim: p.GroupsClaim,
		Grants:      p.Grants, Required: p.Required,
	}, newSecret)
}

// RemoveProvider removes the tenant's provider, and the members that it created. It
// returns fault.NotFound, or ErrLastOwner if the tenant would have no owner left.
func (s *Service) RemoveProvider(ctx context.Context, access Access) error {
	return s.changeProvider(ctx, access, audit.ProviderRemove, nil, false)
}

// changeProvider stores the tenant's provider, or removes it if after is nil. It
// returns fault.NotFound if there is none to remove.
func (s *Service) changeProvider(
	ctx context.Context, access Access, action audit.Action, after *StoredProvider, newSecret bool,
) error {
	id := access.tenantID
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		if err := tx.LockOwners(id); err != nil {
			return err
		}
		before, err := tx.Provider(id)
		if err != nil && (after == nil || fault.CodeOf(err) != fault.NotFound) {
			return err
		}
		changes, issuer := changesOf(before, StoredProvider{}, false), ""
		if after != nil {
			changes, issuer = changesOf(before, *after, newSecret), after.Issuer
			err = tx.PutProvider(*after)
		} else {
			err = tx.DeleteProvider(id)
		}
		if err != nil || len(changes) == 0 {
			return err
		}
		if issuer != before.Issuer {
			if err := s.dismissManaged(tx, id, issuer); err != nil {
				return err
			}
		}
		return tx.AppendAudit(audit.Act{
			Scope: audit.OfTenant(id), At: s.now(), Actor: access.Actor(), Action: action,
			Target: id.String(), Detail: audit.Detail{Changes: changes},
		})
	})
}

// dismissManaged removes the members that any other issuer created. It returns
// ErrLastOwner if no owner is left whose account no provider manages.
func (s *Service) dismissManaged(tx Tx, tenantID uuid.UUID, issuer string) error {
	if err := ownerless(tx, tenantID, errOwned); !errors.Is(err, errOwned) {
		return orElse(err, ErrLastOwner)
	}
	return tx.DismissManaged(tenantID, issuer, s.now())
}

var errOwned = errors.New("the tenant has an owner")

// changesOf lists what differs between two providers. It contains no secret.
func changesOf(before, after StoredProvider, newSecret bool) []audit.Change {
	values := func(p StoredProvider) [][2]string {
		all := [][2]string{{"provider", p.Name}, {"issuer", p.Issuer}, {"client_id", p.ClientID},
			{"groups_claim", p.GroupsClaim}}
		for _, role := range Roles() {
			all = append(all, [2]string{GroupsField(role), p.Groups(role, ", ")})
		}
		return append(all, [2]string{"sso_required", strconv.FormatBool(p.Required)})
	}
	olds, news := values(before), values(after)
	var changes []audit.Change
	for i, old := range olds {
		if old[1] != news[i][1] {
			changes = append(changes, audit.Change{Setting: old[0], Old: old[1], New: news[i][1]})
		}
	}
	if newSecret {
		changes = append(changes, audit.Change{Setting: "client_secret", New: "replaced"})
	}
	return changes
}

// Groups returns the names of a role's groups.
func (p StoredProvider) Groups(role Role, separator string) string {
	var names []string
	for _, g := range p.Grants {
		if g.Role == role {
			names = append(names, g.Group)
		}
	}
	return strings.Join(names, separator)
}
