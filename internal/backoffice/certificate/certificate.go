// Package certificate has the certificates with which the gateway serves https without a reverse proxy: from files that
// others renew, or ordered from an ACME directory (RFC 8555) such as Let's Encrypt.
package certificate

import (
	"context"
	"crypto/tls"
	"errors"
	"time"
)

// Account is the name under which the key of the account at the directory is kept.
// No host has this name, because hosts have a dot.
const Account = "account"

// Certificate is what the replicas share about the certificate of a host, or about the account.
type Certificate struct {
	Name     string     // the host, or Account
	Sealed   []byte     // private key and chain in PEM; nil before the first order succeeded
	NotAfter *time.Time // when it ends
	Failures int        // how many orders have failed since the last success
	Failure  string     // why the last one failed; empty if it did not
	DueAt    time.Time  // when to order next; of Account: until when a replica alone may order
}

// Challenge is the answer by which the gateway shows a directory that it controls a host.
type Challenge struct {
	Token  string
	Answer string
	EndsAt time.Time // afterwards it is not needed
}

// Store keeps what the replicas share.
type Store interface {
	// Certificates returns all, in order of their names.
	Certificates(ctx context.Context) ([]Certificate, error)
	// ClaimOrders gives the caller the sole right to order until a time. It reports
	// false while another caller has that right.
	ClaimOrders(ctx context.Context, now, until time.Time) (bool, error)
	// SaveCertificate stores a certificate in place of the one with its name.
	SaveCertificate(ctx context.Context, c Certificate) error
	// Challenges returns those that end after now.
	Challenges(ctx context.Context, now time.Time) ([]Challenge, error)
	// SaveChallenge stores a challenge and deletes those that ended before now.
	SaveChallenge(ctx context.Context, c Challenge, now time.Time) error
}

// errNone refuses a TLS handshake.
var errNone = errors.New("no certificate for this name")

// serving returns the configuration of a TLS listener. get is called for each
// handshake with the name that the client asks for, which may be empty.
func serving(get func(host string) *tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if c := get(hello.ServerName); c != nil {
				return c, nil
			}
			return nil, errNone
		},
	}
}

// SealContext returns what the key of a certificate is sealed with.
func SealContext(name string) string { return "certificate|" + name }
