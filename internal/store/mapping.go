package store

import (
	"strings"
	"time"

	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// All conversions between rows and the domain. Times pass through at in both
// directions, because drivers return them in different zones.

func atOrNil(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := at(*t)
	return &u
}

func mapAll[From, To any](from []From, convert func(From) To) []To {
	to := make([]To, len(from))
	for i, f := range from {
		to[i] = convert(f)
	}
	return to
}

func fromTenant(t tenant.Tenant) tenantRow {
	return tenantRow{
		ID: t.ID, Name: t.Name,
		SuccessURL: t.SuccessURL, CancelURL: t.CancelURL, WebhookURL: t.WebhookURL,
		DocumentCheck: t.DocumentCheck, AgeVisibility: t.AgeVisibility,
		FreeChecks: t.FreeChecks, TestCap: t.TestCap, PrivacyURL: t.Links.Privacy, HelpURL: t.Links.Help, TermsURL: t.Links.Terms, ReviewURL: t.Links.Review, Disabled: t.Disabled, CreatedAt: at(t.CreatedAt),
		Languages: strings.Join(t.Languages, " "), AlertBelow: t.AlertBelow, DocumentWays: strings.Join(t.DocumentWays, " "),
	}
}

func toTenant(r tenantRow) tenant.Tenant {
	return tenant.Tenant{
		ID: r.ID, Name: r.Name,
		SuccessURL: r.SuccessURL, CancelURL: r.CancelURL, WebhookURL: r.WebhookURL,
		DocumentCheck: r.DocumentCheck, AgeVisibility: r.AgeVisibility,
		FreeChecks: r.FreeChecks, TestCap: r.TestCap, Links: tenant.Links{Privacy: r.PrivacyURL, Help: r.HelpURL, Terms: r.TermsURL, Review: r.ReviewURL}, Disabled: r.Disabled, CreatedAt: at(r.CreatedAt),
		Languages: append([]string(nil), strings.Fields(r.Languages)...), AlertBelow: r.AlertBelow,
		DocumentWays: append([]string(nil), strings.Fields(r.DocumentWays)...),
	}
}

func fromKey(k tenant.APIKey) apiKeyRow {
	return apiKeyRow{
		ID: k.ID, TenantID: k.TenantID, Livemode: k.Livemode, Hash: k.Hash[:], LastFour: k.LastFour,
		CreatedAt: at(k.CreatedAt), LastUsedAt: atOrNil(k.LastUsedAt), RevokedAt: atOrNil(k.RevokedAt),
		Name: k.Name, CreatedBy: k.CreatedBy, ExpiresAt: atOrNil(k.ExpiresAt),
	}
}

func toKey(r apiKeyRow) tenant.APIKey {
	var hash credential.KeyHash
	copy(hash[:], r.Hash) // the length is held by a CHECK
	return tenant.APIKey{
		ID: r.ID, TenantID: r.TenantID, Livemode: r.Livemode, Hash: hash, LastFour: r.LastFour,
		CreatedAt: at(r.CreatedAt), LastUsedAt: atOrNil(r.LastUsedAt), RevokedAt: atOrNil(r.RevokedAt),
		Name: r.Name, CreatedBy: r.CreatedBy, ExpiresAt: atOrNil(r.ExpiresAt),
	}
}

func fromSecret(s tenant.Secret) secretRow {
	return secretRow{
		ID: s.ID, TenantID: s.TenantID, Livemode: s.Livemode, Kind: string(s.Kind), State: string(s.State),
		Sealed: s.Sealed, CreatedAt: at(s.CreatedAt), ExpiresAt: atOrNil(s.ExpiresAt),
	}
}

func toSecret(r secretRow) tenant.Secret {
	return tenant.Secret{
		ID: r.ID, TenantID: r.TenantID, Livemode: r.Livemode,
		Kind: tenant.SecretKind(r.Kind), State: tenant.SecretState(r.State),
		Sealed: r.Sealed, CreatedAt: at(r.CreatedAt), ExpiresAt: atOrNil(r.ExpiresAt),
	}
}

func fromSession(s session.Session) sessionRow {
	return sessionRow{
		ID: s.ID, TenantID: s.TenantID, Livemode: s.Livemode, TargetAge: s.TargetAge,
		SuccessURL: s.SuccessURL, CancelURL: s.CancelURL, WebhookURL: s.WebhookURL,
		LinkHash: s.LinkHash, BrowserHash: s.BrowserHash, Status: string(s.Status),
		CreatedAt: at(s.CreatedAt), ExpiresAt: at(s.ExpiresAt),
		CompletedAt: atOrNil(s.CompletedAt), ConsentedAt: atOrNil(s.ConsentedAt),
		DetectedAge: s.DetectedAge, DocumentOpenedAt: atOrNil(s.DocumentOpenedAt),
		Attempts: s.Attempts, Strikes: s.Strikes,
		OpenedAt: atOrNil(s.OpenedAt), BegunAt: atOrNil(s.BegunAt), RedirectedAt: atOrNil(s.RedirectedAt),
		Source: string(s.Source), Cutoff: s.Basis.Cutoff, Calibration: s.Basis.Calibration, APIKeyID: s.APIKeyID,
		DocumentWay: string(s.DocumentWay), DocumentAttempts: s.DocumentAttempts, NextRedirectExpired: s.NextRedirectExpired,
		FaceMatchAt: atOrNil(s.FaceMatchAt), DocumentCameraMS: s.DocumentCamera.Milliseconds(),
	}
}

func toSession(r sessionRow) session.Session {
	return session.Session{
		ID: r.ID, TenantID: r.TenantID, Livemode: r.Livemode, TargetAge: r.TargetAge,
		SuccessURL: r.SuccessURL, CancelURL: r.CancelURL, WebhookURL: r.WebhookURL,
		LinkHash: r.LinkHash, BrowserHash: r.BrowserHash, Status: session.Status(r.Status),
		CreatedAt: at(r.CreatedAt), ExpiresAt: at(r.ExpiresAt),
		CompletedAt: atOrNil(r.CompletedAt), ConsentedAt: atOrNil(r.ConsentedAt),
		DetectedAge: r.DetectedAge, DocumentOpenedAt: atOrNil(r.DocumentOpenedAt),
		Attempts: r.Attempts, Strikes: r.Strikes,
		OpenedAt: atOrNil(r.OpenedAt), BegunAt: atOrNil(r.BegunAt), RedirectedAt: atOrNil(r.RedirectedAt),
		Source: session.Source(r.Source), Basis: session.Basis{Cutoff: r.Cutoff, Calibration: r.Calibration}, APIKeyID: r.APIKeyID,
		DocumentWay: session.Way(r.DocumentWay), DocumentAttempts: r.DocumentAttempts, NextRedirectExpired: r.NextRedirectExpired,
		FaceMatchAt: atOrNil(r.FaceMatchAt), DocumentCamera: time.Duration(r.DocumentCameraMS) * time.Millisecond,
	}
}

func fromClaim(c session.IdempotencyClaim) claimRow {
	return claimRow{
		TenantID: c.TenantID, Livemode: c.Livemode, KeyHash: c.KeyHash, RequestHash: c.RequestHash,
		SessionID: c.SessionID, SealedLink: c.SealedLink, SessionEnd: at(c.SessionEnd), ExpiresAt: at(c.ExpiresAt),
	}
}

func toClaim(r claimRow) session.IdempotencyClaim {
	return session.IdempotencyClaim{
		TenantID: r.TenantID, Livemode: r.Livemode, KeyHash: r.KeyHash, RequestHash: r.RequestHash,
		SessionID: r.SessionID, SealedLink: r.SealedLink, SessionEnd: at(r.SessionEnd), ExpiresAt: at(r.ExpiresAt),
	}
}

func fromHold(h billing.Hold) holdRow {
	return holdRow{
		SessionID: h.SessionID, TenantID: h.TenantID, Source: string(h.Source), Period: h.Period,
		Status: holdOpen, ExpiresAt: at(h.ExpiresAt),
	}
}

func toHold(r holdRow) billing.Hold {
	return billing.Hold{
		SessionID: r.SessionID, TenantID: r.TenantID, Source: billing.Source(r.Source), Period: r.Period,
		ExpiresAt: at(r.ExpiresAt),
	}
}

func fromEntry(e billing.Entry) entryRow {
	return entryRow{
		ID: e.ID, TenantID: e.TenantID, SessionID: e.SessionID, Kind: string(e.Kind),
		Source: string(e.Source), Period: e.Period, Delta: e.Delta, CreatedAt: at(e.CreatedAt),
	}
}

func toEntry(r entryRow) billing.Entry {
	return billing.Entry{
		ID: r.ID, TenantID: r.TenantID, SessionID: r.SessionID, Kind: billing.EntryKind(r.Kind),
		Source: billing.Source(r.Source), Period: r.Period, Delta: r.Delta, CreatedAt: at(r.CreatedAt),
	}
}
