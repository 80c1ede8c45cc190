package audit

import "slices"

// Action names what was done: the kind of thing, a dot, and a verb.
type Action string

// The actions. Unless stated otherwise, the entry is in the tenant's log and its
// target is the tenant. An action on a key has the key as its target.
const (
	TenantCreate          Action = "tenant.create"
	TenantUpdate          Action = "tenant.update" // settings and brand
	TenantEnable          Action = "tenant.enable"
	TenantDisable         Action = "tenant.disable"
	TenantEnter           Action = "tenant.enter" // an operator looks at the tenant's pages, read-only
	TenantLeave           Action = "tenant.leave"
	TenantDelete          Action = "tenant.delete" // in the log of the instance
	APIKeyCreate          Action = "api_key.create"
	APIKeyRevoke          Action = "api_key.revoke" //nolint:gosec // G101: a name, not a credential
	APIKeyRoll            Action = "api_key.roll"   //nolint:gosec // G101: a name; target: the old key
	WebhookSecretReveal   Action = "webhook_secret.reveal"
	RedirectSecretReveal  Action = "redirect_secret.reveal"
	WebhookSecretRotate   Action = "webhook_secret.rotate"
	RedirectSecretStage   Action = "redirect_secret.stage"
	RedirectSecretPromote Action = "redirect_secret.promote"
	RedirectSecretRetire  Action = "redirect_secret.retire"
	SecretKeyRotate       Action = "secret_key.rotate" // in the log of the instance, without a target
	CreditAdd             Action = "credit.add"
	LedgerArchive         Action = "ledger.archive"          // in the log of the instance, without a target
	EndpointEnable        Action = "webhook_endpoint.enable" // target: the endpoint
	EventResend           Action = "webhook_event.resend"    // target: the event
	// for all tenants: in the log of the instance, without a target.
	EventResendFailed     Action = "webhook_event.resend_failed"
	SessionDelete         Action = "session.delete" // target: the session
	SessionPrune          Action = "session.prune"
	SessionExpire         Action = "session.expire"          // of a test session; target: the session
	SessionExpireRedirect Action = "session.expire_redirect" // as SessionExpire
	EventRetry            Action = "webhook_event.retry"     // of a test event; target: the event
	CertifyRun            Action = "certify.run"             // release 0.2 sent forged deliveries to the tenant's hosts
	QACardCreate          Action = "qa_card.create"          // of release 0.2, which had cards; target: the card
	QACardRevoke          Action = "qa_card.revoke"          // as QACardCreate
	// settings or files that determine results changed; in the log of the instance, without a target.
	GatewayConfigure Action = "gateway.configure"
	// release 0.2 raised the margin by itself; in the log of the instance, without a target.
	DriftRaise     Action = "drift.raise"
	DriftLower     Action = "drift.lower"           // a person ended that; as DriftRaise
	DriftFreeze    Action = "drift.freeze"          // a person froze what 0.2 compared with; as DriftRaise
	IssuerTrust    Action = "trusted_issuer.add"    // in the log of the instance; target: the entry of the trust list
	IssuerDistrust Action = "trusted_issuer.remove" // as IssuerTrust
	TrustListAdd   Action = "trust_list.add"        // in the log of the instance; target: the list
	// a newer list was verified, or other certificates were pinned; as TrustListAdd.
	TrustListUpdate  Action = "trust_list.update"
	TrustListRemove  Action = "trust_list.remove" // as TrustListAdd
	VerifierAdd      Action = "verifier.add"      // in the log of the instance; target: the key
	VerifierActivate Action = "verifier.activate" // as VerifierAdd
	VerifierRemove   Action = "verifier.remove"   // as VerifierAdd
	// a registration certificate: in the log of the instance; target: its ID.
	RegistrationAdd    Action = "registration.add"
	RegistrationRemove Action = "registration.remove" // as RegistrationAdd

	// About members: the target is the user, or the first half of the hash of the
	// invitation's token.
	InvitationCreate Action = "invitation.create"
	InvitationRevoke Action = "invitation.revoke"
	MemberAdd        Action = "member.add"
	MemberUpdate     Action = "member.update"
	MemberRemove     Action = "member.remove"

	// About users: the target is the user. All entries are in the log of the instance. Those of what operators do with
	// an account, from UserDisable to UserRecover, are also in the logs of the user's tenants.
	UserCreate       Action = "user.create"
	UserOperator     Action = "user.operator" // the identity provider's groups made the user an operator, or ended that
	UserDisable      Action = "user.disable"
	UserEnable       Action = "user.enable"
	UserRecoveryLink Action = "user.recovery_link" // an operator made a link
	UserSetupLink    Action = "user.setup_link"    // one for another operator was made; no target
	UserLinkRevoke   Action = "user.link_revoke"   // an open UserRecoveryLink or UserSetupLink was withdrawn
	UserRename       Action = "user.rename"        // by the user
	UserRecover      Action = "user.recover"       // the link was used: all factors were replaced
	PasskeyAdd       Action = "passkey.add"
	PasskeyRemove    Action = "passkey.remove"
	PasswordSet      Action = "password.set"
	TOTPAdd          Action = "totp.add"
	TOTPRemove       Action = "totp.remove"
	CodesReplace     Action = "recovery_codes.replace"
	LoginEnd         Action = "login.end"
	LoginsEnd        Action = "logins.end"
)

var actions = []Action{
	TenantCreate, TenantUpdate, TenantEnable, TenantDisable, TenantDelete, TenantEnter, TenantLeave,
	APIKeyCreate, APIKeyRevoke, APIKeyRoll,
	WebhookSecretReveal, RedirectSecretReveal,
	WebhookSecretRotate, RedirectSecretStage, RedirectSecretPromote, RedirectSecretRetire, SecretKeyRotate,
	CreditAdd, LedgerArchive, EndpointEnable, EventResend, EventResendFailed, SessionDelete, SessionPrune,
	SessionExpire, SessionExpireRedirect, EventRetry,
	CertifyRun, QACardCreate, QACardRevoke, GatewayConfigure, DriftRaise, DriftLower, DriftFreeze,
	IssuerTrust, IssuerDistrust, TrustListAdd, TrustListUpdate, TrustListRemove, VerifierAdd, VerifierActivate,
	VerifierRemove, RegistrationAdd, RegistrationRemove,
	InvitationCreate, InvitationRevoke, MemberAdd, MemberUpdate, MemberRemove,
	UserOperator, UserCreate, UserDisable, UserEnable, UserRecoveryLink, UserSetupLink, UserLinkRevoke, UserRecover,
	UserRename, PasskeyAdd, PasskeyRemove, PasswordSet, TOTPAdd, TOTPRemove, CodesReplace, LoginEnd, LoginsEnd,
}

// Ended are the actions of release 0.2 that nothing writes any more.
var Ended = []Action{CertifyRun, QACardCreate, QACardRevoke, DriftRaise, DriftLower, DriftFreeze}

// Actions returns all actions, by name.
func Actions() []Action { return slices.Sorted(slices.Values(actions)) }

// Mode returns the name of a mode, for Detail.Params.
func Mode(livemode bool) string {
	if livemode {
		return "live"
	}
	return "test"
}
