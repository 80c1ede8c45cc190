package oidc

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"time"

	"agegate/internal/backoffice/account"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

var errToken = &account.ProviderError{Why: account.WhyToken}

// Finish implements account.OpenID.
func (c *Client) Finish(
	ctx context.Context, p account.Provider, a account.Attempt, code string,
) (account.Claims, error) {
	provider, err := c.discover(ctx, p)
	if err != nil {
		return account.Claims{}, err
	}
	ctx, end, err := c.begin(ctx, p.TenantID)
	if err != nil {
		return account.Claims{}, err
	}
	defer end()
	flow := config(p, provider, a.Redirect)
	answer, err := flow.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return account.Claims{}, c.failure(err)
	}
	raw, ok := answer.Extra("id_token").(string)
	if !ok {
		return account.Claims{}, &account.ProviderError{Why: account.WhyAnswer}
	}
	// The verifier checks signature, issuer, audience and expiry. It accepts only
	// signatures by asymmetric keys.
	token, err := provider.Verifier(&oidc.Config{ClientID: p.ClientID, Now: c.cfg.Now}).Verify(ctx, raw)
	switch {
	case ctx.Err() != nil:
		return account.Claims{}, &account.ProviderError{Why: account.WhyTimeout}
	case err != nil, token.Subject == "", len(token.Subject) > maxSubject:
		return account.Claims{}, errToken
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(a.Nonce)) != 1:
		return account.Claims{}, errToken
	}
	return claims(token, p)
}

// maxSubject is the longest subject, in bytes: see the specification, section 2.
const maxSubject = 255

// claims reads what a verified token says.
func claims(token *oidc.IDToken, p account.Provider) (account.Claims, error) {
	var says struct {
		Party    string          `json:"azp"`
		Name     string          `json:"name"`
		Username string          `json:"preferred_username"`
		Email    string          `json:"email"`
		Verified json.RawMessage `json:"email_verified"`
		AuthTime float64         `json:"auth_time"`
	}
	var all map[string]json.RawMessage
	if token.Claims(&says) != nil || token.Claims(&all) != nil {
		return account.Claims{}, errToken
	}
	if says.Party != "" && says.Party != p.ClientID || len(token.Audience) > 1 && says.Party == "" {
		return account.Claims{}, errToken // issued to somebody else
	}
	list, err := groups(all, p.GroupsClaim)
	if err != nil {
		return account.Claims{}, err
	}
	c := account.Claims{Subject: token.Subject, Name: says.Name, Groups: list}
	if c.Name == "" {
		c.Name = says.Username
	}
	// Some providers write the truth value as a string.
	if verified := string(says.Verified); verified == "true" || verified == `"true"` {
		c.Email = says.Email
	}
	if says.AuthTime > 0 {
		c.AuthTime = time.Unix(int64(says.AuthTime), 0).UTC()
	}
	return c, nil
}

// groups reads the claim of groups, a list or one text. A token without it does not
// say that the user is in no group. Entra leaves it out of the token of somebody in
// many groups, and names the place where they can be asked for (OpenID Connect Core,
// section 5.6.2).
func groups(all map[string]json.RawMessage, claim string) ([]string, error) {
	var elsewhere map[string]json.RawMessage
	_ = json.Unmarshal(all["_claim_names"], &elsewhere) // the token may have none
	if _, named := elsewhere[claim]; named || string(all["hasgroups"]) == "true" {
		return nil, &account.GroupsError{Why: account.WhyOverage, Claim: claim}
	}
	var one string
	var list []string
	switch value := all[claim]; {
	case value == nil, string(value) == "null":
	case json.Unmarshal(value, &list) == nil:
		return list, nil
	case json.Unmarshal(value, &one) == nil:
		return []string{one}, nil
	}
	return nil, &account.GroupsError{Why: account.WhyNoClaim, Claim: claim}
}
