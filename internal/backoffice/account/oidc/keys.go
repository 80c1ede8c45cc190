package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/credential"

	"github.com/go-jose/go-jose/v4"
)

const (
	// maxKeys is how many keys a provider may publish.
	maxKeys = 20
	// maxTried is how many keys are tried for a token that does not name its key: the
	// current, the previous and the next one. If a provider has several keys, its
	// tokens must name theirs (OpenID Connect Core, section 10.1).
	maxTried = 3
)

// algorithms are those that ID tokens may be signed by. None uses the client secret.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

var errKeys = &account.ProviderError{Why: account.WhyKeys}

// keySet holds a provider's signing keys, one for each key ID.
type keySet []jose.JSONWebKey

// fetchKeys reads a provider's keys. Their owner may be hostile.
func (c *Client) fetchKeys(ctx context.Context, p account.Provider, address string) (keySet, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errKeys
	}
	res, err := c.clientOf(p).Do(req)
	if err != nil {
		return nil, c.failure(err)
	}
	defer res.Body.Close() //nolint:errcheck // read-only
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, c.failure(err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, errKeys
	}
	return inTurn(ctx, c, p, func() (keySet, error) { return parseKeys(body) })
}

// parseKeys reads a set of JSON Web Keys (RFC 7517). It skips keys for other purposes,
// and keys of a kind or size that is not used. It reads nothing else of a key, such as
// certificates.
func parseKeys(body []byte) (keySet, error) {
	var published struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(body, &published) != nil || len(published.Keys) > maxKeys {
		return nil, errKeys
	}
	var set keySet
	had := map[string]bool{}
	for _, raw := range published.Keys {
		var public struct {
			Kind  string `json:"kty"`
			ID    string `json:"kid,omitempty"`
			Use   string `json:"use,omitempty"`
			Curve string `json:"crv,omitempty"`
			N     string `json:"n,omitempty"`
			E     string `json:"e,omitempty"`
			X     string `json:"x,omitempty"`
			Y     string `json:"y,omitempty"`
		}
		if json.Unmarshal(raw, &public) != nil || public.Use == "enc" || public.ID != "" && had[public.ID] {
			continue
		}
		var key jose.JSONWebKey
		if alone, err := json.Marshal(public); err != nil || key.UnmarshalJSON(alone) != nil ||
			credential.CheckPublicKey(key.Key) != nil {
			continue
		}
		had[key.KeyID] = true
		set = append(set, key)
	}
	return set, nil
}

// payload returns the content of a token that one of the keys has signed. If the token
// names its key, only that key is tried.
func (s keySet) payload(ctx context.Context, token *jose.JSONWebSignature) ([]byte, error) {
	id, tried := token.Signatures[0].Header.KeyID, 0
	for _, key := range s {
		if id != "" && id != key.KeyID || tried == maxTried || ctx.Err() != nil {
			continue
		}
		payload, err := token.Verify(key.Key)
		if err == nil {
			return payload, nil
		}
		if !errors.Is(err, jose.ErrUnsupportedAlgorithm) {
			tried++
		}
	}
	return nil, errToken
}

// inTurn runs a computation on a provider's answer when its turn has come. Providers
// take turns. The wait ends with the request.
func inTurn[T any](ctx context.Context, c *Client, p account.Provider, do func() (T, error)) (T, error) {
	leave, err := c.turns.Take(ctx, p.TenantID)
	if err != nil {
		var none T
		return none, &account.ProviderError{Why: account.WhyBusy}
	}
	defer leave()
	return do()
}
