// Package passkey checks passkeys for package account, as specified by Web
// Authentication (https://www.w3.org/TR/webauthn-3/).
package passkey

import (
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/credential"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"
)

// Reasons why browsers cannot make passkeys for an address.
var (
	ErrPlainHTTP = errors.New("passkeys need https, or http on localhost")
	ErrIPAddress = errors.New("passkeys need a host name, not an IP address")
)

// Verifier implements account.PasskeyVerifier for one address. Passkeys belong to the
// host of this address. Those of another host do not work here.
type Verifier struct{ web *webauthn.WebAuthn }

var _ account.PasskeyVerifier = (*Verifier)(nil)

// New returns a verifier for the dashboard at an address, or ErrPlainHTTP or
// ErrIPAddress. What it accepts does not depend on any request.
func New(dashboardURL string) (*Verifier, error) {
	u, err := url.Parse(dashboardURL)
	if err != nil {
		return nil, fmt.Errorf("passkey: %w", err)
	}
	host := u.Hostname()
	switch {
	case net.ParseIP(host) != nil:
		return nil, ErrIPAddress
	case u.Scheme != "https" && host != "localhost":
		return nil, ErrPlainHTTP
	}
	web, err := webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: "agegate", RPOrigins: []string{u.Scheme + "://" + u.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: protocol.ResidentKeyRequired(),
			ResidentKey:        protocol.ResidentKeyRequirementRequired,
			UserVerification:   protocol.VerificationRequired,
		},
		// Password managers add outputs that were not requested. None is used.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
	if err != nil {
		return nil, fmt.Errorf("passkey: %w", err)
	}
	return &Verifier{web}, nil
}

// CreateOptions implements account.PasskeyVerifier.
func (v *Verifier) CreateOptions(challenge []byte, owner account.User, have []account.Passkey) (string, error) {
	creation, _, err := v.web.BeginRegistration(user{owner, have}, webauthn.WithExclusions(descriptors(have)),
		func(o *protocol.PublicKeyCredentialCreationOptions) error {
			o.Challenge = challenge
			return nil
		})
	if err != nil {
		return "", fmt.Errorf("passkey: %w", err)
	}
	return text(creation.Response)
}

// GetOptions implements account.PasskeyVerifier.
func (v *Verifier) GetOptions(challenge []byte, allowed []account.Passkey) (string, error) {
	assertion, _, err := v.web.BeginDiscoverableLogin(func(o *protocol.PublicKeyCredentialRequestOptions) error {
		o.Challenge, o.AllowedCredentials = challenge, descriptors(allowed)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("passkey: %w", err)
	}
	return text(assertion.Response)
}

func text(options any) (string, error) {
	raw, err := json.Marshal(options)
	return string(raw), err
}

// Created implements account.PasskeyVerifier.
func (v *Verifier) Created(challenge []byte, owner uuid.UUID, response string) (account.Passkey, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(response))
	if err != nil || checkKey(parsed.Response.AttestationObject.AuthData.AttData.CredentialPublicKey) != nil {
		return account.Passkey{}, account.ErrPasskey
	}
	// No attestation is requested or trusted, so none is verified. The sender has chosen the keys of its certificates.
	attestation := &parsed.Response.AttestationObject
	attestation.Format = string(protocol.AttestationFormatNone)
	attestation.AttStatement = nil
	attestation.SubStatements = nil
	session := v.session(challenge, owner)
	session.CredParams = webauthn.CredentialParametersDefault()
	made, err := v.web.CreateCredential(user{User: account.User{ID: owner}}, session, parsed)
	if err != nil {
		return account.Passkey{}, account.ErrPasskey
	}
	key := fromCredential(*made)
	key.UserID = owner
	return key, nil
}

// Got implements account.PasskeyVerifier.
func (v *Verifier) Got(challenge []byte, key account.Passkey, response string) (account.Passkey, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(response))
	if err != nil || checkKey(key.PublicKey) != nil {
		return account.Passkey{}, account.ErrPasskey
	}
	// An update can make an authenticator's passkeys eligible for backup, which the library does not expect. The
	// library still refuses the loss of the flag, and a backup without the flag.
	key.Flags |= byte(parsed.Response.AuthenticatorData.Flags) & account.BackupEligible
	owner := user{account.User{ID: key.UserID}, []account.Passkey{key}}
	used, err := v.web.ValidateLogin(owner, v.session(challenge, key.UserID), parsed)
	if err != nil || used.Authenticator.CloneWarning {
		return account.Passkey{}, account.ErrPasskey
	}
	key.SignCount, key.Flags = used.Authenticator.SignCount, used.Flags.MsgpByte()
	return key, nil
}

// checkKey refuses a passkey's public key, in COSE form, that has an unusual kind or size. The authenticator chose the
// key, and stored keys may be older than this rule.
func checkKey(cose []byte) error {
	parsed, err := webauthncose.ParsePublicKey(cose)
	if err != nil {
		return err
	}
	switch k := parsed.(type) {
	case webauthncose.EC2PublicKeyData:
		key, err := k.ToECDSA()
		if err != nil {
			return err
		}
		return credential.CheckPublicKey(key)
	case webauthncose.OKPPublicKeyData:
		return credential.CheckPublicKey(ed25519.PublicKey(k.XCoord))
	case webauthncose.RSAPublicKeyData:
		exponent, err := webauthncose.ParseRSAPublicKeyDataExponent(&k)
		if err != nil {
			return err
		}
		return credential.CheckPublicKey(&rsa.PublicKey{N: new(big.Int).SetBytes(k.Modulus), E: exponent})
	}
	return credential.ErrPublicKey
}

// session is the library's state between the two halves of a ceremony. The
// library's expiry is not used, because account checks the challenge's age.
func (v *Verifier) session(challenge []byte, owner uuid.UUID) webauthn.SessionData {
	return webauthn.SessionData{
		Challenge: base64.RawURLEncoding.EncodeToString(challenge), RelyingPartyID: v.web.Config.RPID,
		UserID: owner[:], UserVerification: protocol.VerificationRequired,
	}
}

// user is a user in the form that the library needs.
type user struct {
	account.User
	passkeys []account.Passkey
}

// WebAuthnID implements webauthn.User. The ID is random and reveals nothing about the person.
func (u user) WebAuthnID() []byte { return u.ID[:] }

// WebAuthnName implements webauthn.User.
func (u user) WebAuthnName() string { return u.Email }

// WebAuthnDisplayName implements webauthn.User.
func (u user) WebAuthnDisplayName() string { return u.Name }

// WebAuthnCredentials implements webauthn.User.
func (u user) WebAuthnCredentials() []webauthn.Credential {
	credentials := make([]webauthn.Credential, len(u.passkeys))
	for i, key := range u.passkeys {
		credentials[i] = *toCredential(key)
	}
	return credentials
}

func descriptors(keys []account.Passkey) []protocol.CredentialDescriptor {
	var all []protocol.CredentialDescriptor
	for _, key := range keys {
		all = append(all, toCredential(key).Descriptor())
	}
	return all
}

func toCredential(key account.Passkey) *webauthn.Credential {
	c := &webauthn.Credential{
		ID: key.CredentialID, PublicKey: key.PublicKey, Flags: webauthn.CredentialFlagsFromMsgpByte(key.Flags),
		Authenticator: webauthn.Authenticator{AAGUID: key.AAGUID, SignCount: key.SignCount},
	}
	for _, t := range key.Transports {
		c.Transport = append(c.Transport, protocol.AuthenticatorTransport(t))
	}
	return c
}

func fromCredential(c webauthn.Credential) account.Passkey {
	key := account.Passkey{
		CredentialID: c.ID, PublicKey: c.PublicKey, Flags: c.Flags.MsgpByte(),
		AAGUID: c.Authenticator.AAGUID, SignCount: c.Authenticator.SignCount,
	}
	for _, t := range c.Transport {
		key.Transports = append(key.Transports, string(t))
	}
	return key
}
