package wallet

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"slices"

	"github.com/fxamacker/cbor/v2"
)

// deviceKey is a COSE_Key (RFC 9052, 7). Other parameters, such as the text
// key identifiers of some wallets, are ignored.
type deviceKey struct {
	Type  int64           `cbor:"1,keyasint"`
	Curve int64           `cbor:"-1,keyasint"`
	X     []byte          `cbor:"-2,keyasint"`
	Y     cbor.RawMessage `cbor:"-3,keyasint,omitempty"`
}

// Key types and curves of RFC 9053, 7.1.
const (
	keyTypeOKP   = 1
	keyTypeEC2   = 2
	curveP256    = 1
	curveEd25519 = 6
)

var curves = map[int64]elliptic.Curve{curveP256: elliptic.P256(), 2: elliptic.P384(), 3: elliptic.P521()}

// public returns the key as an *ecdsa.PublicKey or an ed25519.PublicKey.
func (k deviceKey) public() (any, error) {
	if k.Type == keyTypeOKP && k.Curve == curveEd25519 && len(k.X) == ed25519.PublicKeySize {
		return ed25519.PublicKey(k.X), nil
	}
	curve, ok := curves[k.Curve]
	if k.Type != keyTypeEC2 || !ok {
		return nil, refuse(ReasonAlgorithm)
	}
	var y []byte // y may also be a boolean for a compressed point, which ISO/IEC 18013-5 does not use
	if decoder.Unmarshal(k.Y, &y) != nil {
		return nil, refuse(ReasonAlgorithm)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(curve, slices.Concat([]byte{4}, k.X, y))
	if err != nil {
		return nil, refuse(ReasonAlgorithm)
	}
	return key, nil
}

// verifyDevice checks that the document is presented by the wallet to which it
// was issued, in the session that transcript describes. readerKey is the
// verifier's key in that session; nil refuses a MAC.
func verifyDevice(d document, key deviceKey, transcript []byte, readerKey *ecdh.PrivateKey) error {
	public, err := key.public()
	if err != nil {
		return err
	}
	if _, err := embedded(d.DeviceSigned.NameSpaces); err != nil {
		return err
	}
	payload := embed(encode([]any{"DeviceAuthentication", cbor.RawMessage(transcript), d.DocType,
		d.DeviceSigned.NameSpaces}))
	auth := d.DeviceSigned.DeviceAuth
	switch {
	case auth.Signature != nil && auth.MAC == nil:
		message, err := parseSign1(auth.Signature)
		if err != nil {
			return err
		}
		if message.Payload != nil {
			return refuse(ReasonMalformed)
		}
		message.Payload = payload
		return verifySign1(message, public, ReasonDevice)
	case auth.MAC != nil && auth.Signature == nil:
		return verifyMAC(auth.MAC, payload, public, transcript, readerKey)
	default:
		return refuse(ReasonDevice)
	}
}

// mac0 is a COSE_Mac0 (RFC 9052, 6.2).
type mac0 struct {
	_           struct{} `cbor:",toarray"`
	Protected   []byte
	Unprotected cbor.RawMessage
	Payload     []byte
	Tag         []byte
}

const algorithmHMAC256 = 5 // RFC 9053, 3.1

// verifyMAC checks a MAC of ISO/IEC 18013-5, 9.1.3.5.
func verifyMAC(raw, payload []byte, device any, transcript []byte, readerKey *ecdh.PrivateKey) error {
	var m mac0
	if err := decoder.Unmarshal(raw, &m); err != nil || m.Payload != nil {
		return refuse(ReasonMalformed)
	}
	var header struct {
		Algorithm int64 `cbor:"1,keyasint"`
	}
	if err := decoder.Unmarshal(m.Protected, &header); err != nil || header.Algorithm != algorithmHMAC256 {
		return refuse(ReasonAlgorithm)
	}
	ec, ok := device.(*ecdsa.PublicKey)
	if !ok || readerKey == nil {
		return refuse(ReasonAlgorithm)
	}
	peer, err := ec.ECDH()
	if err != nil {
		return refuse(ReasonAlgorithm)
	}
	shared, err := readerKey.ECDH(peer)
	if err != nil {
		return refuse(ReasonAlgorithm)
	}
	salt := sha256.Sum256(embed(transcript))
	key, err := hkdf.Key(sha256.New, shared, salt[:], "EMacKey", sha256.Size)
	if err != nil {
		return refuse(ReasonAlgorithm)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(encode([]any{"MAC0", m.Protected, []byte{}, payload}))
	if !hmac.Equal(mac.Sum(nil), m.Tag) {
		return refuse(ReasonDevice)
	}
	return nil
}
