package tenant

import (
	"context"
	"io"
	"iter"
	"math"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/gather"
	"agegate/internal/rules/turn"

	"github.com/google/uuid"
)

// Service manages tenants and authenticates their calls. A method that takes an audit.Actor writes an entry of the
// audit log in the transaction of its change; without a valid actor it fails and changes nothing.
type Service struct {
	// Margin is the operator's rule for the margins of tenants. It is set before the service is used.
	Margin MarginRule

	store  Store
	sealer *credential.Sealer
	rule   CallbackRule
	random io.Reader
	now    func() time.Time
	keys   recent[credential.KeyHash, cachedCaller] // valid for keyTTL
	reads  *gather.Group[uuid.UUID, struct{}, Tenant]
	logos  *turn.Queue // fair turns for decoding logos
}

// How many logos are decoded at the same time, and how many of one tenant may wait.
const (
	logosAtOnce  = 2
	logosWaiting = 4
)

// NewService returns a service over a store. random must be cryptographically secure.
func NewService(
	store Store, sealer *credential.Sealer, rule CallbackRule, random io.Reader, now func() time.Time,
) *Service {
	reads := gather.New(math.MaxInt, func(ctx context.Context, id uuid.UUID, _ []struct{}) (Tenant, error) {
		return store.TenantByID(ctx, id)
	})
	return &Service{store: store, sealer: sealer, rule: rule, random: random, now: now, reads: reads,
		logos: turn.NewQueue(logosAtOnce, logosWaiting),
	}
}

// ModeSecrets holds the plain API key and secrets of one mode. They are shown only once.
type ModeSecrets struct {
	APIKey, WebhookSecret, RedirectSecret string
}

// Credentials holds the secrets that are shown once, when a tenant is created.
type Credentials struct {
	Tenant     Tenant
	Test, Live ModeSecrets
}

// Create registers a tenant with one API key and one webhook and one redirect
// secret per mode. It returns fault.Invalid for an unacceptable setting.
func (s *Service) Create(ctx context.Context, actor audit.Actor, t Tenant) (Credentials, error) {
	return s.create(ctx, actor, t, true)
}

// CreateWithoutKeys is Create for a tenant whose staff make their own API keys: it has none at first.
func (s *Service) CreateWithoutKeys(ctx context.Context, actor audit.Actor, t Tenant) (Credentials, error) {
	return s.create(ctx, actor, t, false)
}

func (s *Service) create(ctx context.Context, actor audit.Actor, t Tenant, withKeys bool) (Credentials, error) {
	checked, err := s.checked(ctx, uuid.Nil, t.all())
	if err != nil {
		return Credentials{}, err
	}
	t = checked.Apply(t)
	if t.ID, err = uuid.NewV7(); err != nil {
		return Credentials{}, err
	}
	t.CreatedAt = s.now()
	c := Credentials{Tenant: t}
	var keys []APIKey
	var secrets []Secret
	for _, mode := range []struct {
		livemode bool
		keyName  string
		shown    *ModeSecrets
	}{{false, "First test key", &c.Test}, {true, "First live key", &c.Live}} {
		if withKeys {
			key, plain, err := s.newKey(t.ID, mode.livemode)
			if err != nil {
				return Credentials{}, err
			}
			key.Name = mode.keyName
			keys, mode.shown.APIKey = append(keys, key), plain
		}
		webhook, webhookPlain, err := s.newSecret(t.ID, mode.livemode, SecretWebhook)
		if err != nil {
			return Credentials{}, err
		}
		redirect, redirectPlain, err := s.newSecret(t.ID, mode.livemode, SecretRedirect)
		if err != nil {
			return Credentials{}, err
		}
		secrets = append(secrets, webhook, redirect)
		mode.shown.WebhookSecret = credential.FormatWebhookSecret(webhookPlain)
		mode.shown.RedirectSecret = credential.FormatRedirectSecret(redirectPlain, mode.livemode)
	}
	act := s.act(actor, audit.TenantCreate, t.ID, nil)
	act.Detail.Changes = Settings{}.ChangesTo(Settings{Tenant: t})
	return c, s.store.CreateTenant(ctx, t, keys, secrets, act)
}

// Update changes the given settings. It returns fault.NotFound, or fault.Invalid
// with every field that breaks a rule; see Check.
func (s *Service) Update(ctx context.Context, actor audit.Actor, id uuid.UUID, c Changes) (Tenant, error) {
	c, err := s.checked(ctx, id, c)
	if err != nil {
		return Tenant{}, err
	}
	return s.store.UpdateTenant(ctx, id, c, s.act(actor, audit.TenantUpdate, id, nil))
}

// SetDisabled turns a tenant's API access off or on. The reason goes into the tenant's log; it may be empty.
// SetDisabled returns fault.NotFound, or fault.Invalid with the field reason for one that breaks audit.CheckNote.
func (s *Service) SetDisabled(
	ctx context.Context, actor audit.Actor, id uuid.UUID, disabled bool, reason string,
) error {
	if err := audit.CheckNote(reason); err != nil {
		return fault.InvalidFields(fault.FieldError{Field: "reason", Err: err})
	}
	action := audit.TenantEnable
	if disabled {
		action = audit.TenantDisable
	}
	return s.store.SetTenantDisabled(ctx, id, disabled, s.act(actor, action, id, audit.WithNote(nil, "reason", reason)))
}

// ErrEnabled refuses to delete an enabled tenant.
var ErrEnabled = fault.New(fault.Conflict, "the tenant is enabled: disable it first")

// Delete deletes a disabled tenant whose sessions have been deleted. It returns fault.NotFound, ErrEnabled, or
// fault.Conflict for a tenant that has sessions. The tenant's audit log is kept. Each run that begins to delete
// writes an entry to the instance's log.
func (s *Service) Delete(ctx context.Context, actor audit.Actor, id uuid.UUID) error {
	t, err := s.store.TenantByID(ctx, id)
	if err != nil {
		return err
	}
	act := s.act(actor, audit.TenantDelete, id, map[string]string{"name": t.Name})
	act.Scope = audit.Instance
	return s.store.DeleteTenant(ctx, id, act)
}

// Tenant returns one tenant, or fault.NotFound. Simultaneous calls share one query.
func (s *Service) Tenant(ctx context.Context, id uuid.UUID) (Tenant, error) {
	return s.reads.Do(ctx, id, struct{}{})
}

// FindTenants returns the first MaxPage tenants, oldest first, whose name
// contains the text, ignoring case, or whose ID or session's ID it is, or six or more characters of whose ID.
func (s *Service) FindTenants(ctx context.Context, text string) ([]Tenant, error) {
	return s.store.FindTenants(ctx, text, MaxPage)
}

// HasTwin reports whether another tenant has a tenant's name.
func (s *Service) HasTwin(ctx context.Context, t Tenant) (bool, error) {
	return s.store.HasTwin(ctx, t)
}

// Names returns the names of tenants by ID; a tenant that does not exist is missing.
func (s *Service) Names(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	return s.store.TenantNames(ctx, ids)
}

// MaxPage is the maximum number of tenants returned by one call.
const MaxPage = 100

// Tenants returns the next MaxPage tenants, oldest first, starting after the one with the given ID; uuid.Nil starts
// at the oldest. It returns fault.NotFound for an ID that no tenant has.
func (s *Service) Tenants(ctx context.Context, after uuid.UUID) ([]Tenant, error) {
	return s.store.Tenants(ctx, after, MaxPage)
}

// All returns all tenants, oldest first, in pages of MaxPage. It stops at the first error.
func (s *Service) All(ctx context.Context) iter.Seq2[[]Tenant, error] {
	return func(yield func([]Tenant, error) bool) {
		last := uuid.Nil
		for {
			page, err := s.Tenants(ctx, last)
			if len(page) == 0 && err == nil || !yield(page, err) || err != nil || len(page) < MaxPage {
				return
			}
			last = page[len(page)-1].ID
		}
	}
}
