package oidc

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"agegate/internal/backoffice/account"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"
)

var errToken = &account.ProviderError{Why: account.WhyToken}

// maxHeader is the maximum length of an ID token's header. Some headers carry
// certificates, which are not used.
const maxHeader = 8 << 10

// Finish implements account.OpenID.
func (c *Client) Finish(
	ctx context.Context, p account.Provider, by account.Caller, a account.Attempt, code string,
) (account.Claims, error) {
	found, err := c.discover(ctx, p, by)
	if err != nil {
		return account.Claims{}, err
	}
	ctx, end, err := c.begin(ctx, p, by)
	if err != nil {
		return account.Claims{}, err
	}
	defer end()
	answer, err := found.flow(p, a.Redirect).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return account.Claims{}, c.failure(err)
	}
	raw, ok := answer.Extra("id_token").(string)
	if !ok {
		return account.Claims{}, &account.ProviderError{Why: account.WhyAnswer}
	}
	if header, _, _ := strings.Cut(raw, "."); len(header) > maxHeader {
		return account.Claims{}, errToken
	}
	payload, err := c.signed(ctx, p, found, raw)
	if err == nil {
		return inTurn(ctx, c, p, func() (account.Claims, error) { return c.read(ctx, p, a.Nonce, raw, payload) })
	}
	if ctx.Err() != nil {
		err = &account.ProviderError{Why: account.WhyTimeout}
	}
	return account.Claims{}, err
}

// signed checks the signature of an ID token and returns the signed content. If none
// of the known keys has signed it, the provider's keys are read again.
func (c *Client) signed(ctx context.Context, p account.Provider, found *provider, raw string) ([]byte, error) {
	token, err := inTurn(ctx, c, p, func() (*jose.JSONWebSignature, error) {
		token, err := jose.ParseSignedCompact(raw, algorithms)
		if err != nil || len(token.Signatures) != 1 {
			return nil, errToken
		}
		return token, nil
	})
	if err != nil {
		return nil, err
	}
	check := func(keys keySet) ([]byte, error) {
		return inTurn(ctx, c, p, func() ([]byte, error) { return keys.payload(ctx, token) })
	}
	if known := found.keys.Load(); known != nil {
		if payload, err := check(*known); !errors.Is(err, errToken) {
			return payload, err
		}
	}
	keys, err := c.fetchKeys(ctx, p, found.keysAt)
	if err != nil {
		return nil, err
	}
	found.keys.Store(&keys)
	return check(keys)
}

// checked is the content of a token whose signature was checked. It implements
// oidc.KeySet.
type checked []byte

// VerifySignature implements oidc.KeySet.
func (c checked) VerifySignature(context.Context, string) ([]byte, error) { return c, nil }

// read checks issuer, audience, expiry and nonce of an ID token, and returns what it
// says.
func (c *Client) read(
	ctx context.Context, p account.Provider, nonce, raw string, payload checked,
) (account.Claims, error) {
	cfg := &oidc.Config{ClientID: p.ClientID, Now: c.cfg.Now}
	for _, a := range algorithms {
		cfg.SupportedSigningAlgs = append(cfg.SupportedSigningAlgs, string(a))
	}
	token, err := oidc.NewVerifier(p.Issuer, payload, cfg).Verify(ctx, raw)
	if err != nil || token.Subject == "" || len(token.Subject) > maxSubject ||
		subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1 {
		return account.Claims{}, errToken
	}
	return claims(token, p)
}

// maxSubject is the longest subject, in bytes: see the specification, section 2.
const maxSubject = 255

// claims reads the claims of a verified token. With a *GroupsError, it returns all
// claims except the groups.
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
	c := account.Claims{
		Subject: token.Subject, Name: says.Name, HasEmail: says.Email != "", Names: slices.Collect(maps.Keys(all)),
	}
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
	var err error
	c.Groups, err = groups(all, p.GroupsClaim)
	return c, err
}

// groups reads the claim with the groups, which is a list or a single text. A token
// without the claim is an error, because it does not say that the user has no groups.
// Entra ID leaves the claim out for users with many groups, and names an address to ask
// instead (OpenID Connect Core, section 5.6.2).
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
