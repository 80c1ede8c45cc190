package account

import (
	"encoding/base64"
	"encoding/binary"
	"io"
	"time"

	"agegate/internal/rules/credential"

	"github.com/google/uuid"
)

// purpose separates tickets for different uses.
type purpose string

const (
	forDevice    purpose = "device"      // in a cookie: the browser has signed in as the user
	forSecond    purpose = "second step" // the password was right; data has the hash of its stored form
	forTOTP      purpose = "totp"        // a secret that the user has not confirmed yet
	forCreating  purpose = "create passkey"
	forLoggingIn purpose = "log in by passkey"
	forStepUp    purpose = "step up by passkey"
	forSSO       purpose = "log in by provider" // data has the flow
)

// Lifetimes of tickets.
const (
	DeviceTTL   = 180 * 24 * time.Hour
	ceremonyTTL = 10 * time.Minute
)

// ticket is data that a browser stores for the gateway until its next request. It is sealed: others cannot read,
// create or change it. It needs no database row until it is used.
type ticket struct {
	userID  uuid.UUID
	expires time.Time
	data    []byte
}

const ticketHead = 8 + 16 // length of the part before data, in bytes

// seal returns a ticket that is valid for ttl.
func (s *Service) seal(p purpose, userID uuid.UUID, ttl time.Duration, data []byte) ([]byte, error) {
	plain := binary.BigEndian.AppendUint64(nil, uint64(s.now().Add(ttl).Unix())) //nolint:gosec // G115: times after 1970
	plain = append(append(plain, userID[:]...), data...)
	return s.sealer.Seal(plain, "ticket "+string(p))
}

// open returns a ticket that has not expired.
func (s *Service) open(p purpose, sealed []byte) (ticket, bool) {
	plain, err := s.sealer.Open(sealed, "ticket "+string(p))
	if err != nil || len(plain) < ticketHead {
		return ticket{}, false
	}
	//nolint:gosec // G115: sealed by seal
	t := ticket{expires: time.Unix(int64(binary.BigEndian.Uint64(plain)), 0), data: plain[ticketHead:]}
	copy(t.userID[:], plain[8:])
	return t, s.now().Before(t.expires)
}

// use marks a ticket as used and reports whether it was unused.
func (t ticket) use(tx Tx, sealed []byte) (bool, error) {
	return tx.ClaimFlow(credential.HashToken(string(sealed)), "ticket", t.expires)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// decode returns nil for text that encode did not produce; no ticket opens with nil. The library also accepts other
// spellings of the same bytes, with line ends or with unused bits set.
func decode(s string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || encode(b) != s {
		return nil
	}
	return b
}

// newDevice returns the value of a cookie that identifies a browser in which the user
// has signed in. Failures in other browsers do not count for this browser.
func (s *Service) newDevice(userID uuid.UUID) (string, error) {
	id := make([]byte, 16)
	if _, err := io.ReadFull(s.random, id); err != nil {
		return "", err
	}
	sealed, err := s.seal(forDevice, userID, DeviceTTL, id)
	return encode(sealed), err
}

// knownDevice reports whether a device cookie was given to the user.
func (s *Service) knownDevice(cookie string, userID uuid.UUID) bool {
	t, ok := s.open(forDevice, decode(cookie))
	return ok && t.userID == userID
}
