package audit_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"agegate/internal/check/document"
	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/trustlist/trustlisttest"
	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
)

// fixture is a database with the services whose acts are logged.
type fixture struct {
	*store.Store
	t        testing.TB
	tenants  *tenant.Service
	sessions *session.Service
	records  *session.Records
	clock    *session.TestClock
	webhooks *webhook.Operations
	shown    []string // values that must not be in the log
}

var secretKey = bytes.Repeat([]byte{7}, credential.SecretLen)

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func newFixture(t testing.TB, db *store.Store) *fixture {
	t.Helper()
	sealer, err := credential.NewSealer(secretKey, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	o := &fixture{Store: db, t: t, tenants: tenant.NewService(db, sealer, tenant.CallbackRule{}, rand.Reader, now)}
	o.sessions = session.NewService(session.Config{
		VerifyURL: "https://v.example", TTL: time.Hour, TokenTTL: time.Minute,
		Limits: billing.Limits{FreeChecksPerMonth: billing.Unlimited, TestDailyCap: billing.Unlimited},
	}, db, o.tenants, sealer, rand.Reader, now, func() {})
	o.records = session.NewRecords(db, now)
	o.clock = session.NewTestClock(db, now)
	o.webhooks = webhook.NewOperations(db, now, nil)
	return o
}

func (o *fixture) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// hire creates a tenant whose URLs and credentials must not be logged.
func (o *fixture) hire() uuid.UUID {
	o.t.Helper()
	c, err := o.tenants.Create(o.t.Context(), audit.System("test"), tenant.Tenant{
		Name: "Shop", SuccessURL: "https://shop.example/canary", CancelURL: "https://shop.example:8443/?canary=1",
		WebhookURL: "https://hooks.example/canary",
	})
	o.must(err)
	for _, s := range []tenant.ModeSecrets{c.Test, c.Live} {
		o.shown = append(o.shown, s.APIKey, s.WebhookSecret, s.RedirectSecret)
	}
	return c.Tenant.ID
}

// finish lets a session of a tenant pass and records an attempt to deliver its
// webhook.
func (o *fixture) finish(
	owner uuid.UUID, class webhook.Class, action webhook.Disposition,
) (uuid.UUID, webhook.Delivery) {
	o.t.Helper()
	ctx := o.t.Context()
	created, err := o.sessions.Create(ctx, tenant.Caller{TenantID: owner, Livemode: true},
		session.CreateRequest{TargetAge: 18})
	o.must(err)
	link := strings.TrimPrefix(created.VerificationURL, "https://v.example/v/")
	o.shown = append(o.shown, link)
	s, err := o.sessions.ByLink(ctx, link)
	o.must(err)
	_, err = o.sessions.Resolve(ctx, s, session.CheckResult{Result: session.ResultVerified})
	o.must(err)
	due, err := o.ClaimDeliveries(ctx, []webhook.Claim{{TenantID: owner, Limit: 1}}, time.Minute)
	o.must(err)
	o.must(o.FinishDelivery(ctx, due[0], webhook.Attempt{Number: 1, At: now(), Class: class}, action))
	return s.ID, due[0]
}

// try creates a test session of a tenant.
func (o *fixture) try(owner uuid.UUID) session.Session {
	o.t.Helper()
	created, err := o.sessions.Create(o.t.Context(), tenant.Caller{TenantID: owner}, session.CreateRequest{TargetAge: 18})
	o.must(err)
	s, err := o.sessions.ByLink(o.t.Context(), strings.TrimPrefix(created.VerificationURL, "https://v.example/v/"))
	o.must(err)
	return s
}

// state is everything that an act can change, except the audit log.
func (o *fixture) state(owner uuid.UUID) string {
	o.t.Helper()
	ctx := o.t.Context()
	var text bytes.Buffer
	add := func(v any, err error) {
		o.t.Helper()
		o.must(err)
		o.must(json.NewEncoder(&text).Encode(v))
	}
	add(o.TenantByID(ctx, owner))
	add(o.Brand(ctx, owner))
	add(o.Keys(ctx, owner))
	add(o.Credit(ctx, owner))
	add(o.Entries(ctx, owner, uuid.Nil, 100))
	add(o.SecretsBefore(ctx, uuid.Max, uuid.Max, now(), 100))
	add(o.Events(ctx, webhook.Filter{Scope: webhook.OfTenant(owner)}))
	add(o.Endpoints(ctx, webhook.OfTenant(owner)))
	add(o.Issuers(ctx))
	return text.String()
}

// TestActs: each act writes one entry that describes it, and without an actor it
// changes nothing.
func TestActs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		o := newFixture(t, db)
		ctx, owner := t.Context(), o.hire()
		gave := webhook.Disposition{Action: webhook.ActionGiveUp}
		done := webhook.Disposition{Action: webhook.ActionFinish}
		_, failed := o.finish(owner, webhook.ClassStatus, gave)
		deleted, _ := o.finish(owner, webhook.ClassDelivered, done)
		o.finish(owner, webhook.ClassDelivered, done)
		_, gone := o.finish(owner, webhook.ClassStatus, webhook.Disposition{Action: webhook.ActionDisable})
		open, passed := o.try(owner).ID, o.try(owner)
		passed, err := o.sessions.Resolve(ctx, passed,
			session.CheckResult{Result: session.ResultVerified, Source: session.SourceForced})
		o.must(err)
		events, err := o.Events(ctx, webhook.Filter{Scope: webhook.OfTenant(owner), Session: passed.ID})
		o.must(err)
		waiting := events[0].ID
		endpoint := webhook.EndpointID(owner, true, gone.Destination)
		keep := func(secret string, err error) error {
			if err == nil {
				o.shown = append(o.shown, secret)
			}
			return err
		}
		var key tenant.APIKey
		name, colour, moved, free := "New", "#1f5f5b", "https://moved.example/canary", int64(3)
		params := func(of ...string) audit.Detail {
			d := audit.Detail{Params: map[string]string{}}
			for i := 0; i < len(of); i += 2 {
				d.Params[of[i]] = of[i+1]
			}
			return d
		}
		entries, err := o.Entries(ctx, owner, uuid.Nil, 100)
		o.must(err)
		booked, err := json.Marshal(entries[0])
		o.must(err)
		nextKey := bytes.Repeat([]byte{8}, credential.SecretLen)
		sealer, err := credential.NewSealer(nextKey, rand.Reader, secretKey)
		o.must(err)
		resealing := tenant.NewService(db, sealer, tenant.CallbackRule{}, rand.Reader, now)

		sample, err := wallet.NewSampleIssuer(secretKey)
		o.must(err)
		certificate := sample.Trusted()[0].Certificate.Raw
		trust, issuer := document.NewTrust(db, now), document.TrustedIssuer{}
		lists, list, publisher := document.NewLists(db, tenant.CallbackRule{}, nil, now), document.TrustList{},
			trustlisttest.NewPublisher("Publisher")
		published, updated := publishedList(publisher)

		stranger := o.hire()
		if err := o.records.Delete(ctx, audit.System("test"), stranger, deleted); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("a stranger deletes a session: %v", err)
		}

		own := audit.OfTenant(owner)
		since, before := now().Add(-time.Hour), now().Add(time.Minute)
		for _, act := range []struct {
			action audit.Action
			scope  audit.Scope
			target func() string // nil: the tenant
			detail audit.Detail
			do     func(audit.Actor) error
		}{
			{audit.TenantUpdate, own, nil, audit.Detail{Changes: []audit.Change{
				{Setting: "name", Old: "Shop", New: "New"},
				{Setting: "webhook_url", Old: "hooks.example", New: "moved.example"},
				{Setting: "free_checks", New: "3"},
				{Setting: "brand_colour", New: "1f5f5b"},
			}}, func(a audit.Actor) error {
				_, err := o.tenants.Update(ctx, a, owner, tenant.Changes{
					Name: &name, WebhookURL: &moved, FreeChecks: &free, Brand: &tenant.BrandChanges{Colour: &colour},
				})
				return err
			}},
			{audit.APIKeyCreate, own, func() string { return key.ID.String() }, params("mode", "live"),
				func(a audit.Actor) error {
					k, plain, err := o.tenants.CreateKey(ctx, a, owner, true, "")
					key = k
					return keep(plain, err)
				}},
			{audit.APIKeyRevoke, own, func() string { return key.ID.String() }, audit.Detail{}, func(a audit.Actor) error {
				return o.tenants.RevokeKey(ctx, a, owner, key.ID)
			}},
			{audit.APIKeyRevoke, own, func() string { return key.ID.String() }, audit.Detail{}, func(a audit.Actor) error {
				return o.tenants.RevokeKeyAsOperator(ctx, a, key.ID)
			}},
			{audit.WebhookSecretReveal, own, nil, params("mode", "live"), func(a audit.Actor) error {
				_, err := o.tenants.RevealSecrets(ctx, a, owner, true, tenant.SecretWebhook)
				return err
			}},
			{audit.RedirectSecretReveal, own, nil, params("mode", "test"), func(a audit.Actor) error {
				_, err := o.tenants.RevealSecrets(ctx, a, owner, false, tenant.SecretRedirect)
				return err
			}},
			{audit.WebhookSecretRotate, own, nil, params("mode", "test", "overlap", "1h0m0s"), func(a audit.Actor) error {
				return keep(o.tenants.RotateWebhookSecret(ctx, a, owner, false, time.Hour))
			}},
			{audit.RedirectSecretStage, own, nil, params("mode", "live"), func(a audit.Actor) error {
				return keep(o.tenants.StageRedirectSecret(ctx, a, owner, true))
			}},
			{audit.RedirectSecretPromote, own, nil, params("mode", "live"), func(a audit.Actor) error {
				return o.tenants.PromoteRedirectSecret(ctx, a, owner, true)
			}},
			{audit.RedirectSecretRetire, own, nil, params("mode", "live"), func(a audit.Actor) error {
				return o.tenants.RetireRedirectSecret(ctx, a, owner, true)
			}},
			{audit.SecretKeyRotate, audit.Instance, func() string { return "" }, audit.Detail{}, func(a audit.Actor) error {
				return resealing.ResealSecrets(ctx, a, func(credential.Resealing) {})
			}},
			{audit.CreditAdd, own, nil, params("units", "7"), func(a audit.Actor) error {
				_, err := billing.TopUp(ctx, db, a, owner, 7, "", now())
				return err
			}},
			{audit.LedgerArchive, audit.Instance, func() string { return "" }, params("before", "2026-09"),
				func(a audit.Actor) error {
					_, err := billing.SumUp(ctx, db, bytes.NewReader(booked), audit.Act{Scope: audit.Instance, At: now(), Actor: a,
						Action: audit.LedgerArchive, Detail: params("before", "2026-09")})
					return err
				}},
			{audit.EventResend, own, func() string { return failed.ID }, audit.Detail{}, func(a audit.Actor) error {
				return o.webhooks.ResendEvent(ctx, a, webhook.OfAll(), failed.ID)
			}},
			{audit.EventResendFailed, own, nil, params("created_since", since.Format(time.RFC3339)), func(a audit.Actor) error {
				_, err := o.webhooks.ResendFailedEvents(ctx, a, webhook.OfTenant(owner), since)
				return err
			}},
			{audit.EventResendFailed, own, nil, params("created_since", since.Format(time.RFC3339), "mode", "test"),
				func(a audit.Actor) error {
					_, err := o.webhooks.ResendFailedEvents(ctx, a, webhook.OfMode(owner, false), since)
					return err
				}},
			{audit.EventResendFailed, audit.Instance, func() string { return "" },
				params("created_since", since.Format(time.RFC3339)), func(a audit.Actor) error {
					_, err := o.webhooks.ResendFailedEvents(ctx, a, webhook.OfAll(), since)
					return err
				}},
			{audit.EndpointEnable, own, func() string { return endpoint }, audit.Detail{}, func(a audit.Actor) error {
				_, err := o.webhooks.EnableEndpoint(ctx, a, webhook.OfAll(), endpoint)
				return err
			}},
			{audit.SessionExpire, own, open.String, audit.Detail{}, func(a audit.Actor) error {
				return o.clock.Expire(ctx, a, webhook.OfTenant(owner), open)
			}},
			{audit.SessionExpireRedirect, own, passed.ID.String, audit.Detail{}, func(a audit.Actor) error {
				return o.clock.ExpireNextRedirect(ctx, a, webhook.OfMode(owner, false), passed.ID)
			}},
			{audit.EventRetry, own, func() string { return waiting }, audit.Detail{}, func(a audit.Actor) error {
				return o.webhooks.RetryEvent(ctx, a, webhook.OfTenant(owner), waiting)
			}},
			{audit.SessionDelete, own, deleted.String, audit.Detail{}, func(a audit.Actor) error {
				return o.records.Delete(ctx, a, owner, deleted)
			}},
			{audit.SessionPrune, own, nil, params("created_before", before.Format(time.RFC3339)), func(a audit.Actor) error {
				_, err := o.records.Prune(ctx, a, owner, before, func(session.Pruned) {})
				return err
			}},
			{audit.IssuerTrust, audit.Instance, func() string { return issuer.ID.String() },
				params("name", "Utopia", "country", "UT", "doctype", wallet.DocTypeMDL, "fingerprint",
					fmt.Sprintf("%x", sha256.Sum256(certificate))), func(a audit.Actor) (err error) {
					issuer, err = trust.Add(ctx, a, document.NewIssuer{
						Name: "Utopia", Country: "UT", DocType: wallet.DocTypeMDL,
						PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
					})
					return err
				}},
			{audit.IssuerDistrust, audit.Instance, func() string { return issuer.ID.String() }, audit.Detail{},
				func(a audit.Actor) error {
					return trust.Remove(ctx, a, issuer.ID)
				}},
			{audit.TrustListAdd, audit.Instance, func() string { return list.ID.String() },
				params("name", "AV", "format", "av", "signers", fmt.Sprintf("%x", sha256.Sum256(publisher.Certificate.Raw))),
				func(a audit.Actor) (err error) {
					list, err = lists.Add(ctx, a, document.NewList{Name: "AV", Format: trustlist.FormatAV, PEM: publisher.PEM()})
					return err
				}},
			{audit.TrustListUpdate, audit.Instance, func() string { return list.ID.String() }, updated,
				func(a audit.Actor) error {
					_, err := lists.Import(ctx, a, list.ID, published)
					return err
				}},
			{audit.TrustListRemove, audit.Instance, func() string { return list.ID.String() }, params("name", "AV"),
				func(a audit.Actor) error {
					return lists.Remove(ctx, a, list.ID)
				}},
			{audit.TenantDisable, own, nil, audit.Detail{},
				func(a audit.Actor) error { return o.tenants.SetDisabled(ctx, a, owner, true, "") }},
			{audit.TenantEnable, own, nil, audit.Detail{},
				func(a audit.Actor) error { return o.tenants.SetDisabled(ctx, a, owner, false, "") }},
		} {
			o.wrote(act.action, act.scope, owner, act.do, act.target, act.detail)
		}
		o.deleteTenant(owner)
		o.wrote(audit.TenantDelete, audit.Instance, owner,
			func(a audit.Actor) error { return o.tenants.Delete(ctx, a, owner) }, nil, params("name", "New"))
		if end, err := audit.Verify(ctx, db, own); err != nil || end.Seq < 17 {
			t.Errorf("the log of the deleted tenant: %v, %v", end, err)
		}
		o.checkCanaries(own, audit.Instance)
	})
}

// deleteTenant delivers due events, disables the tenant and deletes its sessions,
// so that it can be deleted.
func (o *fixture) deleteTenant(owner uuid.UUID) {
	o.t.Helper()
	due, err := o.ClaimDeliveries(o.t.Context(), []webhook.Claim{{TenantID: owner, Limit: 9}}, time.Minute)
	o.must(err)
	for _, d := range due {
		o.must(o.FinishDelivery(o.t.Context(), d, webhook.Attempt{Number: 2, At: now(), Class: webhook.ClassDelivered},
			webhook.Disposition{Action: webhook.ActionFinish}))
	}
	o.must(o.tenants.SetDisabled(o.t.Context(), audit.System("test"), owner, true, ""))
	t, err := o.TenantByID(o.t.Context(), owner)
	o.must(err)
	_, err = o.records.DeleteAll(o.t.Context(), audit.System("test"), t, func(session.Pruned) {})
	o.must(err)
}

// checkCanaries looks for credentials and paths of URLs in the log.
func (o *fixture) checkCanaries(scopes ...audit.Scope) {
	o.t.Helper()
	for _, scope := range scopes {
		var log bytes.Buffer
		if _, err := audit.Export(o.t.Context(), o, scope, &log); err != nil {
			o.t.Fatal(err)
		}
		for _, secret := range append(o.shown, "canary", "https:") {
			if strings.Contains(log.String(), secret) {
				o.t.Errorf("the log %s has %q", scope, secret)
			}
		}
	}
}

// TestSessionsWriteNoEntries: neither an API call nor a shopper writes to the log, and neither
// waits while another transaction writes to it.
func TestSessionsWriteNoEntries(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db *store.Store) {
		o := newFixture(t, db)
		owner := o.hire()
		before, err := o.AuditHead(t.Context(), audit.OfTenant(owner))
		o.must(err)
		o.finish(owner, webhook.ClassDelivered, webhook.Disposition{Action: webhook.ActionFinish})
		if after, err := o.AuditHead(t.Context(), audit.OfTenant(owner)); err != nil || after != before {
			t.Errorf("the log went from %v to %v, %v", before, after, err)
		}
	})
}
