package oidc

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/backoffice/account"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
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
		return inTurn(ctx, c, p, func() (account.Claims, error) { return c.read(p, a.Nonce, payload) })
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

// maxSubject is the longest subject, in bytes: see the specification, section 2.
const maxSubject = 255

// clockSkew is how far a provider's clock may be ahead.
const clockSkew = 5 * time.Minute

// read checks issuer, audience, expiry and nonce of an ID token whose signature was
// checked, and returns what it says. With a *GroupsError, it returns all claims except
// the groups. Each claim is read by itself: one that decides nothing may be of any type.
func (c *Client) read(p account.Provider, nonce string, payload []byte) (account.Claims, error) {
	var all map[string]json.RawMessage
	if json.Unmarshal(payload, &all) != nil {
		return account.Claims{}, errToken
	}
	var is jwt.Claims
	var said, party string
	for name, value := range map[string]any{
		"iss": &is.Issuer, "sub": &is.Subject, "aud": &is.Audience, "exp": &is.Expiry, "nbf": &is.NotBefore,
		"nonce": &said, "azp": &party,
	} {
		if raw, ok := all[name]; ok && json.Unmarshal(raw, value) != nil {
			return account.Claims{}, &account.ProviderError{Why: account.WhyToken, Claim: name}
		}
	}
	wrong, now := "", c.cfg.Now()
	switch {
	case is.Issuer != p.Issuer:
		wrong = "iss"
	case !is.Audience.Contains(p.ClientID):
		wrong = "aud"
	case party != "" && party != p.ClientID, len(is.Audience) > 1 && party == "":
		wrong = "azp" // issued to somebody else
	case is.Expiry == nil || !now.Before(is.Expiry.Time()):
		wrong = "exp"
	case is.NotBefore != nil && now.Add(clockSkew).Before(is.NotBefore.Time()):
		wrong = "nbf"
	case subtle.ConstantTimeCompare([]byte(said), []byte(nonce)) != 1:
		wrong = "nonce"
	case is.Subject == "" || len(is.Subject) > maxSubject:
		wrong = "sub"
	}
	if wrong != "" {
		return account.Claims{}, &account.ProviderError{Why: account.WhyToken, Claim: wrong}
	}
	return claims(all, is.Subject, p)
}

// claims returns what a checked token says of its user.
func claims(all map[string]json.RawMessage, subject string, p account.Provider) (account.Claims, error) {
	email := text(all["email"])
	c := account.Claims{
		Subject: subject, Name: cmp.Or(text(all["name"]), text(all["preferred_username"])), HasEmail: email != "",
		Names: slices.Collect(maps.Keys(all)),
	}
	// Some providers write the truth value, and the seconds since 1970, as a text.
	if verified := all["email_verified"]; string(verified) == "true" || text(verified) == "true" {
		c.Email = email
	}
	at := cmp.Or(text(all["auth_time"]), string(all["auth_time"]))
	if seconds, err := strconv.ParseFloat(at, 64); err == nil && seconds > 0 && seconds < 1e11 {
		c.AuthTime = time.Unix(int64(seconds), 0).UTC()
	}
	var err error
	c.Groups, err = groups(all, p.GroupsClaim)
	return c, err
}

// text returns a claim that is a text, or "".
func text(claim json.RawMessage) string {
	var s string
	if json.Unmarshal(claim, &s) != nil {
		return ""
	}
	return s
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
