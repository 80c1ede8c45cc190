package wallet

import "crypto/sha256"

// Session transcripts bind a presentation to the request that it answers. Each is
// [null, null, [name, SHA-256 of the agreed parameters]].

func transcript(name string, info ...any) []byte {
	hash := sha256.Sum256(encode(info))
	return encode([]any{nil, nil, []any{name, hash[:]}})
}

// transcriptMdocAPI is the transcript of ISO/IEC 18013-7, C.5. encryptionInfo is
// the parameter of the request as the wallet received it.
func transcriptMdocAPI(encryptionInfo, origin string) []byte {
	return transcript("dcapi", encryptionInfo, origin)
}

// transcriptOpenIDAPI is the transcript of OpenID4VP 1.0, B.2.6.2. thumbprint is
// the SHA-256 thumbprint (RFC 7638) of the key to which the response is
// encrypted.
func transcriptOpenIDAPI(origin, nonce string, thumbprint []byte) []byte {
	return transcript("OpenID4VPDCAPIHandover", origin, nonce, orNull(thumbprint))
}

// transcriptOpenID is the transcript of OpenID4VP 1.0, B.2.6.1; thumbprint is nil
// for an unencrypted response.
func transcriptOpenID(clientID, nonce string, thumbprint []byte, responseURI string) []byte {
	return transcript("OpenID4VPHandover", clientID, nonce, orNull(thumbprint), responseURI)
}

func orNull(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}
