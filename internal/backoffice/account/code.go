package account

import (
	"crypto/sha256"
	"encoding/base32"
	"io"
	"strings"
)

// Recovery codes replace the authenticator app. Each works once.
const (
	recoveryCodes = 10
	codeBits      = 60
	codeBytes     = 8 // random bytes in a code
)

// codeText is Crockford's alphabet, without letters that look like digits.
var codeText = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// newCodes returns new recovery codes, as XXXX-XXXX-XXXX, and the hashes to store.
func newCodes(random io.Reader) (codes []string, hashes [][]byte, err error) {
	for range recoveryCodes {
		raw := make([]byte, codeBytes)
		if _, err := io.ReadFull(random, raw); err != nil {
			return nil, nil, err
		}
		c := codeText.EncodeToString(raw)[:codeBits/5]
		codes = append(codes, c[:4]+"-"+c[4:8]+"-"+c[8:])
		hashes = append(hashes, hashCode(c))
	}
	return codes, hashes, nil
}

// readAs replaces characters that people type by those of the alphabet.
var readAs = strings.NewReplacer("-", "", " ", "", "O", "0", "I", "1", "L", "1")

// hashCode returns the stored form of a code. Case, spaces, hyphens and similar letters do not matter.
func hashCode(code string) []byte {
	sum := sha256.Sum256([]byte(readAs.Replace(strings.ToUpper(code))))
	return sum[:]
}

// useCode uses up a code of the user's authenticator app or a recovery code. It returns ErrWrongCode.
func (s *Service) useCode(tx Tx, user User, code string) (Method, error) {
	secret, err := s.sealer.Open(user.TOTP, TOTPContext(user.ID.String()))
	if err != nil {
		return "", err
	}
	if step, ok := matchTOTP(secret, code, s.now()); ok {
		fresh, err := tx.UseTOTPStep(user.ID, step)
		if err != nil || !fresh {
			return "", orElse(err, ErrWrongCode)
		}
		return ByTOTP, nil
	}
	used, err := tx.UseCode(user.ID, hashCode(code), s.now())
	if err != nil || !used {
		return "", orElse(err, ErrWrongCode)
	}
	return ByCode, nil
}

// TOTPContext returns what the TOTP secret of a user is sealed with.
func TOTPContext(userID string) string { return "totp " + userID }
