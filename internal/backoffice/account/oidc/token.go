package oidc

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"time"

	"agegate/internal/backoffice/account"

	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"
)

var errToken = &account.ProviderError{Why: account.WhyToken}

// Finish implements account.OpenID.
func (c *Client) Finish(
	ctx context.Context, by account.Caller, a account.Attempt, code string,
) (account.Claims, error) {
	found, err := c.discover(ctx, by)
	if err != nil {
		return account.Claims{}, err
	}
	ctx, end, err := c.begin(ctx, by)
	if err != nil {
		return account.Claims{}, err
	}
	defer end()
	answer, err := c.flow(found, a.Redirect).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return account.Claims{}, failure(err)
	}
	raw, ok := answer.Extra("id_token").(string)
	if !ok {
		return account.Claims{}, &account.ProviderError{Why: account.WhyAnswer}
	}
	// The key set takes every algorithm of ID tokens that is not symmetric.
	payload, err := found.keys.VerifySignature(ctx, raw)
	_, unread := errors.AsType[*url.Error](err)
	switch {
	case ctx.Err() != nil:
		return account.Claims{}, &account.ProviderError{Why: account.WhyTimeout}
	case unread:
		return account.Claims{}, failure(err)
	case err != nil:
		return account.Claims{}, errToken
	}
	return c.read(a.Nonce, payload)
}

// maxSubject is the longest subject, in bytes: see the specification, section 2.
const maxSubject = 255

// clockSkew is how far a provider's clock may be ahead.
const clockSkew = 5 * time.Minute

// read checks issuer, audience, expiry and nonce of an ID token whose signature was checked, and returns what it says.
// Each claim is read by itself: one that decides nothing may be of any type.
func (c *Client) read(nonce string, payload []byte) (account.Claims, error) {
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
	if wrong := c.wrong(is, party, said, nonce); wrong != "" {
		return account.Claims{}, &account.ProviderError{Why: account.WhyToken, Claim: wrong}
	}
	return claims(all, is.Subject, c.provider.GroupsClaim)
}

// wrong returns the name of a claim that is not valid for the provider, its client or the attempt with a nonce, or "".
func (c *Client) wrong(is jwt.Claims, party, said, nonce string) string {
	p, now := c.provider, c.now()
	switch {
	case is.Issuer != p.Issuer:
		return "iss"
	case !is.Audience.Contains(p.ClientID):
		return "aud"
	case party != "" && party != p.ClientID, len(is.Audience) > 1 && party == "":
		return "azp" // issued to somebody else
	case is.Expiry == nil || !now.Before(is.Expiry.Time()):
		return "exp"
	case is.NotBefore != nil && now.Add(clockSkew).Before(is.NotBefore.Time()):
		return "nbf"
	case subtle.ConstantTimeCompare([]byte(said), []byte(nonce)) != 1:
		return "nonce"
	case is.Subject == "" || len(is.Subject) > maxSubject:
		return "sub"
	}
	return ""
}

// claims returns what a checked token says of its user.
func claims(all map[string]json.RawMessage, subject, groupsClaim string) (account.Claims, error) {
	email := text(all["email"])
	c := account.Claims{Subject: subject, Name: cmp.Or(text(all["name"]), text(all["preferred_username"]))}
	// Some providers write the truth value, and the seconds since 1970, as a text.
	if verified := all["email_verified"]; string(verified) == "true" || text(verified) == "true" {
		c.Email = email
	}
	at := cmp.Or(text(all["auth_time"]), string(all["auth_time"]))
	if seconds, err := strconv.ParseFloat(at, 64); err == nil && seconds > 0 && seconds < 1e11 {
		c.AuthTime = time.Unix(int64(seconds), 0).UTC()
	}
	var err error
	c.Groups, err = groups(all, groupsClaim)
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

// groups reads the claim with the groups, which is a list or a single text. A token without the claim is an error,
// because it does not say that the user has no groups. Entra ID leaves the claim out for users with many groups, and
// names an address to ask instead (OpenID Connect Core, section 5.6.2).
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
