package security

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/proof/table"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/uuid"
)

// The origin of the passkeys: gatewaytest's default.
const (
	passkeyOrigin = "http://localhost:8080"
	passkeyHost   = "localhost"
)

// The RSA keys of hostile passkeys, in bytes. A log-in sends a signature as large
// as the key, and a registration sends both. All fit into a form.
const (
	hugeLogIn        = 37_500
	hugeRegistration = 20_000
)

// Log-ins by passkeys with so large an RSA key that checking one signature takes
// seconds, while a user logs in repeatedly by a normal passkey.
func TestHugeKeysInPasskeys(t *testing.T) {
	onEach(t, "Huge RSA keys in passkeys", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		const tries = 8
		attempts := table.Sized(40, 4)
		shop := g.Shop(t, "", nil).Tenant.ID
		owner := g.SignIn(t, false, account.ByPasskey)
		g.Join(t, owner, shop, account.Owner)
		var registered, in []string
		passkeys := g.Count(t, "passkeys")
		costs(r, "processor time of a registration by an invitation", tries, func(i int) {
			link, err := g.App.Accounts.Invite(t.Context(), g.Access(t, owner, shop), account.Invitation{Role: account.Viewer})
			if err != nil {
				t.Fatal(err)
			}
			invitation := mustURL(t, link).Path
			stranger := g.Nobody()
			response := hugeCreation(t, challengeAt(t, stranger, invitation))
			res, _ := stranger.Post(t, invitation,
				url.Values{"name": {"Eve"}, "email": {fmt.Sprint(i, "@made.up")}, "passkey": {response}})
			if res.StatusCode != http.StatusUnprocessableEntity {
				registered = append(registered, res.Status)
			}
		})
		if added := g.Count(t, "passkeys") - passkeys; added != 0 {
			registered = append(registered, fmt.Sprintf("%d passkeys stored", added))
		}

		// Passkeys that were stored before the size was limited.
		var huge []softPasskey
		for range 5 {
			huge = append(huge, storePasskey(t, g, owner.User, coseRSA(t, hugeLogIn), nil))
		}
		logIn := func(i int) {
			stranger := g.Nobody()
			response := huge[i%len(huge)].response(t, challengeAt(t, stranger, "/dashboard/login"))
			res, _ := stranger.Post(t, "/dashboard/login/passkey", url.Values{"passkey": {response}})
			if res.StatusCode != http.StatusUnprocessableEntity && res.StatusCode != http.StatusTooManyRequests {
				in = append(in, res.Status)
			}
		}
		costs(r, "processor time of a log-in", tries, logIn)

		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		honest := storePasskey(t, g, g.SignIn(t, false).User, coseP256(t, key), key)
		posted := besideAttack(t, r, attempts, logIn, func() error {
			browser := g.Nobody()
			response := honest.response(t, challengeAt(t, browser, "/dashboard/login"))
			res, _ := browser.Post(t, "/dashboard/login/passkey", url.Values{"passkey": {response}})
			if res.StatusCode != http.StatusSeeOther {
				return errors.New(res.Status)
			}
			return nil
		})
		r.Didf("%d registrations, %d log-ins, and %d beside %d honest ones", tries, tries, posted, attempts)
		r.None("huge keys that were registered", registered)
		r.None("log-ins by a huge key that were not refused", in)
	})
}

var passkeyOptions = regexp.MustCompile(`data-options="([^"]+)"`)

// challengeAt returns the passkey challenge on a page of the dashboard.
func challengeAt(t *testing.T, browser *gatewaytest.Staff, path string) string {
	t.Helper()
	_, page := browser.Get(t, path)
	found := passkeyOptions.FindStringSubmatch(page)
	var options struct{ Challenge string }
	if found == nil || json.Unmarshal([]byte(html.UnescapeString(found[1])), &options) != nil || options.Challenge == "" {
		t.Fatalf("%s offers no passkey", path)
	}
	return options.Challenge
}

// softPasskey is a passkey whose authenticator is a program.
type softPasskey struct {
	id  []byte
	key *ecdsa.PrivateKey // if nil, the signature is as long as a huge key requires
}

// storePasskey stores a passkey of a user.
func storePasskey(
	t *testing.T, g *gatewaytest.Gateway, user account.User, cose []byte, key *ecdsa.PrivateKey,
) softPasskey {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	err := g.App.Store.UpdateAccounts(t.Context(), func(tx account.Tx) error {
		return tx.InsertPasskey(account.Passkey{
			ID: id, UserID: user.ID, CredentialID: id[:], PublicKey: cose, Flags: 0x05, AAGUID: make([]byte, 16),
			CreatedAt: g.Clock.Now(),
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return softPasskey{id[:], key}
}

// response returns what a browser sends to log in with the passkey.
func (p softPasskey) response(t *testing.T, challenge string) string {
	t.Helper()
	client := clientData("webauthn.get", challenge)
	data := authenticatorData(0x05)
	signature := make([]byte, hugeLogIn)
	if p.key != nil {
		hash := sha256.Sum256([]byte(client))
		digest := sha256.Sum256(append(slices.Clone(data), hash[:]...))
		var err error
		if signature, err = ecdsa.SignASN1(rand.Reader, p.key, digest[:]); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf(`{"id":%q,"rawId":%q,"type":"public-key","response":{"clientDataJSON":%q,"authenticatorData":%q,"signature":%q}}`,
		encodeURL(p.id), encodeURL(p.id), encodeURL([]byte(client)), encodeURL(data), encodeURL(signature))
}

// hugeCreation returns what a browser sends to register a passkey, here one with
// a huge key that attests itself.
func hugeCreation(t *testing.T, challenge string) string {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	data := append(authenticatorData(0x45), make([]byte, 16)...)
	data = append(binary.BigEndian.AppendUint16(data, uint16(len(id))), id[:]...)
	data = append(data, coseRSA(t, hugeRegistration)...)
	object, err := cbor.Marshal(map[string]any{
		"fmt": "packed", "authData": data, "attStmt": map[string]any{"alg": -257, "sig": make([]byte, hugeRegistration)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"id":%q,"rawId":%q,"type":"public-key","response":{"clientDataJSON":%q,"attestationObject":%q}}`,
		encodeURL(id[:]), encodeURL(id[:]), encodeURL([]byte(clientData("webauthn.create", challenge))), encodeURL(object))
}

func clientData(kind, challenge string) string {
	return fmt.Sprintf(`{"type":%q,"challenge":%q,"origin":%q,"crossOrigin":false}`, kind, challenge, passkeyOrigin)
}

// authenticatorData returns the data of an authenticator that does not count
// uses.
func authenticatorData(flags byte) []byte {
	host := sha256.Sum256([]byte(passkeyHost))
	return append(host[:], flags, 0, 0, 0, 0)
}

func coseRSA(t *testing.T, size int) []byte {
	t.Helper()
	modulus := []byte(strings.Repeat("\xff", size))
	return marshalCBOR(t, map[int]any{1: 3, 3: -257, -1: modulus, -2: []byte{0x7f, 0xff, 0xff, 0xff}})
}

func coseP256(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return marshalCBOR(t, map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
}

func marshalCBOR(t *testing.T, v any) []byte {
	t.Helper()
	encoded, err := cbor.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func encodeURL(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
