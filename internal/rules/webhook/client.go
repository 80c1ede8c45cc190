package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"code.dny.dev/ssrf"
)

// Class is the result of an attempt as shown to merchants. The raw error is not
// shown: it could reveal details of the gateway's network.
type Class string

// The classes of attempts.
const (
	ClassDelivered Class = "delivered" // a 2xx answer
	ClassStatus    Class = "status"    // an answer that is neither 2xx nor a redirect
	ClassRedirect  Class = "redirect"  // a 3xx answer; never followed
	ClassDNS       Class = "dns"       // the name did not resolve
	ClassBlocked   Class = "blocked"   // the address is not public and not allowed
	ClassConnect   Class = "connect"   // no connection, or it broke before the answer
	ClassTLS       Class = "tls"       // the TLS handshake failed or the certificate is not trusted
	ClassTimeout   Class = "timeout"   // no answer within AttemptTimeout
)

// AttemptTimeout bounds one attempt, from the lookup of the name to the headers of the answer.
const AttemptTimeout = 15 * time.Second

const (
	// excerptBytes is how many bytes of an answer are stored. A receiver may echo the request in them. That reveals
	// nothing new: a person who may read an attempt may also read its event, and the signature is valid only for that
	// delivery and for a few minutes.
	excerptBytes   = 1024
	excerptTimeout = time.Second     // for reading the excerpt
	maxHeaderBytes = 16 << 10        // of an answer's header
	tlsTimeout     = 5 * time.Second // for the handshake
)

// Answer is the result of one POST.
type Answer struct {
	Class      Class
	StatusCode int           // 0 without an answer
	RetryAfter time.Duration // from a 429 or 503, at most 12 h
	Excerpt    []byte        // the first 1 KiB of the answer's body, any bytes
	Latency    time.Duration // until the answer's header, or the failure
}

// Client posts deliveries. It follows no redirect, uses no proxy, and connects to public addresses only.
type Client struct {
	dialer    *net.Dialer
	transport http.RoundTripper // used directly: an http.Client would process redirects
	timeout   time.Duration
}

// NewClient returns a Client that may also connect to the given networks, even if they
// are private. nat64 are the prefixes, in addition to the well-known one, by which the
// gateway's network reaches IPv4. Each must pass CheckNAT64.
func NewClient(allow, nat64 []netip.Prefix) *Client {
	return newClient(newDialer(allow, nat64), AttemptTimeout)
}

func newClient(dialer *net.Dialer, timeout time.Duration) *Client {
	return &Client{
		dialer:  dialer,
		timeout: timeout,
		transport: &http.Transport{
			Proxy:                  nil,
			DisableKeepAlives:      true, // each attempt dials, so each address is checked
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			DisableCompression:     true,
			TLSHandshakeTimeout:    tlsTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
		},
	}
}

// The headers of each attempt in addition to those of the signature.
const (
	ContentType = "application/json"
	UserAgent   = "agegate-webhook/1"
)

// Post sends body to url with the signature headers. Every failure is reported as an Answer. A cancelled ctx gives
// ClassTimeout, which the caller that cancelled must not record.
func (c *Client) Post(ctx context.Context, url string, signature http.Header, body []byte) Answer {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	attempt := time.AfterFunc(c.timeout, cancel)
	defer attempt.Stop()

	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Answer{Class: ClassConnect}
	}
	req.Header = signature.Clone()
	req.Header.Set("Content-Type", ContentType)
	req.Header.Set("User-Agent", UserAgent)

	res, err := c.transport.RoundTrip(req)
	latency := time.Since(start)
	if err != nil {
		return Answer{Class: Classify(err), Latency: latency}
	}
	defer res.Body.Close() //nolint:errcheck // read-only
	var excerpt []byte
	// Reads from a connection that switched protocols ignore the context.
	if res.StatusCode != http.StatusSwitchingProtocols {
		attempt.Reset(excerptTimeout) // the status decides; reading the excerpt must not delay it
		excerpt, _ = io.ReadAll(io.LimitReader(res.Body, excerptBytes))
	}
	return Answer{
		Class:      classOfStatus(res.StatusCode),
		StatusCode: res.StatusCode,
		RetryAfter: retryAfter(res.StatusCode, res.Header, time.Now()),
		Excerpt:    excerpt,
		Latency:    latency,
	}
}

// Transport returns the guarded transport, for requests other than deliveries.
// It bounds neither their time nor the size of an answer's body.
func (c *Client) Transport() http.RoundTripper { return c.transport }

// Connect connects to an address, host:port, as a delivery would, with all its guards, and sends no request. With
// secure it also makes the TLS handshake and returns the host's certificate. Use Classify for its errors.
func (c *Client) Connect(ctx context.Context, address string, secure bool) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if !secure {
		conn, err := c.dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return nil, conn.Close()
	}
	dialer := tls.Dialer{NetDialer: c.dialer,
		Config: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing was sent
	//nolint:forcetypeassert // by the contract of tls.Dialer
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// errAnswer is returned by Get for an answer that is not a 200 or is too large. It contains nothing of the answer.
var errAnswer = errors.New("the server's answer cannot be used")

// Get fetches a document of at most limit bytes. It follows no redirect and applies the guards of Post.
func (c *Client) Get(ctx context.Context, url, accept string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, errAnswer
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "agegate/1")
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // read-only
	if res.StatusCode != http.StatusOK {
		return nil, errAnswer
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = errAnswer
	}
	return body, err
}

func classOfStatus(status int) Class {
	switch {
	case status >= 200 && status < 300:
		return ClassDelivered
	case status >= 300 && status < 400:
		return ClassRedirect
	default:
		return ClassStatus
	}
}

// Classify returns the class of an error of the guarded transport. The order matters: a blocked
// address and a failed lookup are wrapped in connection errors.
func Classify(err error) Class {
	var network net.Error
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork),
		errors.Is(err, ssrf.ErrInvalidHostPort):
		return ClassBlocked
	case is[*net.DNSError](err):
		return ClassDNS
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ClassTimeout
	case errors.Is(err, http.ErrSchemeMismatch), is[tls.RecordHeaderError](err), is[tls.AlertError](err),
		is[*tls.CertificateVerificationError](err), is[x509.HostnameError](err):
		return ClassTLS
	case errors.As(err, &network) && network.Timeout():
		return ClassTimeout
	default:
		return ClassConnect
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// Reason returns a fixed text for why a connection failed.
func Reason(err error) string {
	switch Classify(err) {
	case ClassDNS:
		return "its name does not resolve"
	case ClassBlocked:
		return "its address is not public"
	case ClassTimeout:
		return "it does not answer in time"
	case ClassTLS:
		return tlsReason(err)
	default:
		return "it takes no connection"
	}
}

// tlsReason returns a fixed text for why a TLS handshake failed.
func tlsReason(err error) string {
	var (
		invalid   x509.CertificateInvalidError
		name      x509.HostnameError
		authority x509.UnknownAuthorityError
	)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired, or is not valid yet"
	case errors.As(err, &name):
		return "its certificate is for another name"
	case errors.As(err, &authority):
		return "its certificate is by an authority that this machine does not trust"
	default:
		return "the TLS handshake fails"
	}
}
