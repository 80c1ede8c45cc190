package audit

import "slices"

// Action names what was done: the kind of thing, a dot, and a verb.
type Action string

// The actions. Unless stated otherwise the target is the tenant, whose log has
// the entry; that of an action on a key is the key.
const (
	TenantCreate          Action = "tenant.create"
	TenantUpdate          Action = "tenant.update" // settings and brand
	TenantEnable          Action = "tenant.enable"
	TenantDisable         Action = "tenant.disable"
	TenantDelete          Action = "tenant.delete" // in the log of the instance
	APIKeyCreate          Action = "api_key.create"
	APIKeyRevoke          Action = "api_key.revoke" //nolint:gosec // G101: a name, not a credential
	WebhookSecretRotate   Action = "webhook_secret.rotate"
	RedirectSecretStage   Action = "redirect_secret.stage"
	RedirectSecretPromote Action = "redirect_secret.promote"
	RedirectSecretRetire  Action = "redirect_secret.retire"
	SecretKeyRotate       Action = "secret_key.rotate" // in the log of the instance, without a target
	CreditAdd             Action = "credit.add"
	EndpointEnable        Action = "webhook_endpoint.enable"     // target: the endpoint
	EventResend           Action = "webhook_event.resend"        // target: the event
	EventResendFailed     Action = "webhook_event.resend_failed" // for all tenants: in the log of the instance, without a target
	SessionDelete         Action = "session.delete"              // target: the session
	SessionPrune          Action = "session.prune"
	IssuerTrust           Action = "trusted_issuer.add"    // in the log of the instance; target: the entry of the trust list
	IssuerDistrust        Action = "trusted_issuer.remove" // as IssuerTrust
)

var actions = []Action{
	TenantCreate, TenantUpdate, TenantEnable, TenantDisable, TenantDelete, APIKeyCreate, APIKeyRevoke,
	WebhookSecretRotate, RedirectSecretStage, RedirectSecretPromote, RedirectSecretRetire, SecretKeyRotate,
	CreditAdd, EndpointEnable, EventResend, EventResendFailed, SessionDelete, SessionPrune,
	IssuerTrust, IssuerDistrust,
}

// Actions returns all actions, by name.
func Actions() []Action { return slices.Sorted(slices.Values(actions)) }

// Mode returns the name of a mode, for Detail.Params.
func Mode(livemode bool) string {
	if livemode {
		return "live"
	}
	return "test"
}
