package certificate

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
)

// account returns the account at the directory and a client that uses it. If no stored
// key opens, it creates an account. The caller must have claimed the orders.
func (a *ACME) account(ctx context.Context) (Certificate, *acme.Client, error) {
	all, err := a.store.Certificates(ctx)
	if err != nil {
		return Certificate{}, nil, err
	}
	account := Certificate{Name: Account}
	if i := slices.IndexFunc(all, func(c Certificate) bool { return c.Name == Account }); i >= 0 {
		account = all[i]
	}
	key, err := a.accountKey(account)
	if err != nil {
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return account, nil, err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return account, nil, err
		}
		if account.Sealed, err = a.Sealer.Seal(der, SealContext(Account)); err != nil {
			return account, nil, err
		}
		if err := a.store.SaveCertificate(ctx, account); err != nil {
			return account, nil, err
		}
	}
	return account, &acme.Client{
		Key: key, DirectoryURL: a.Directory, UserAgent: "agegate", HTTPClient: &http.Client{Timeout: 30 * time.Second},
		RetryBackoff: func(n int, _ *http.Request, res *http.Response) time.Duration {
			if n > 3 || res.StatusCode == http.StatusTooManyRequests {
				return -1 // renew waits
			}
			return time.Second
		},
	}, nil
}

func (a *ACME) accountKey(account Certificate) (*ecdsa.PrivateKey, error) {
	der, err := a.Sealer.Open(account.Sealed, SealContext(Account))
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	own, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("the account's key is of another kind")
	}
	return own, nil
}

// order gets a certificate for a host and returns its key and chain in PEM.
func (a *ACME) order(ctx context.Context, client *acme.Client, host string) ([]byte, error) {
	account := new(acme.Account)
	if a.Email != "" {
		account.Contact = []string{"mailto:" + a.Email}
	}
	_, err := client.Register(ctx, account, acme.AcceptTOS)
	if err != nil && !errors.Is(err, acme.ErrAccountAlreadyExists) {
		return nil, err
	}
	order, err := client.AuthorizeOrder(ctx, acme.DomainIDs(host))
	if err != nil {
		return nil, err
	}
	for _, url := range order.AuthzURLs {
		if err := a.authorize(ctx, client, url); err != nil {
			return nil, err
		}
	}
	if order, err = client.WaitOrder(ctx, order.URI); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{host}}, key)
	if err != nil {
		return nil, err
	}
	chain, _, err := client.CreateCertFromOrder(ctx, order, request, true)
	if err != nil {
		return nil, err
	}
	return encode(key, chain)
}

// authorize shows the directory by HTTP-01 that the gateway controls the host.
func (a *ACME) authorize(ctx context.Context, client *acme.Client, url string) error {
	authorization, err := client.GetAuthorization(ctx, url)
	if err != nil || authorization.Status == acme.StatusValid {
		return err
	}
	i := slices.IndexFunc(authorization.Challenges, func(c *acme.Challenge) bool { return c.Type == "http-01" })
	if i < 0 {
		return errors.New("the directory offers no challenge by HTTP")
	}
	challenge := authorization.Challenges[i]
	answer, err := client.HTTP01ChallengeResponse(challenge.Token)
	if err != nil {
		return err
	}
	now := a.Now()
	if err := a.store.SaveChallenge(ctx, Challenge{challenge.Token, answer, now.Add(orderTime)}, now); err != nil {
		return err
	}
	if _, err := client.Accept(ctx, challenge); err != nil {
		return err
	}
	_, err = client.WaitAuthorization(ctx, url)
	return err
}

// encode returns a key and its chain in PEM.
func encode(key crypto.Signer, chain [][]byte) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	for _, c := range chain {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c})...)
	}
	return text, nil
}

// problems are the directory's errors (RFC 8555, section 6.7) that an operator can
// act on. Others are not repeated: a directory may write anything.
var problems = map[string]string{
	"rateLimited":             "the directory's limit of orders is reached",
	"connection":              "the directory cannot reach port 80 of the host",
	"dns":                     "the directory cannot resolve the host",
	"unauthorized":            "another server than this gateway answers on port 80 of the host",
	"caa":                     "a CAA record of the host does not allow this directory",
	"rejectedIdentifier":      "the directory gives no certificate for the host",
	"invalidContact":          "the directory does not take AGEGATE_ACME_EMAIL",
	"unsupportedContact":      "the directory does not take AGEGATE_ACME_EMAIL",
	"externalAccountRequired": "the directory asks for an account made elsewhere, which is not supported",
}

// reason returns a fixed text for why an order failed.
func reason(err error) string {
	if refused, ok := errors.AsType[*acme.AuthorizationError](err); ok && len(refused.Errors) > 0 {
		err = refused.Errors[0]
	}
	problem, ok := errors.AsType[*acme.Error](err)
	if !ok {
		return "the directory does not answer, or the gateway does not trust its certificate"
	}
	kind := problem.ProblemType[strings.LastIndex(problem.ProblemType, ":")+1:]
	return cmp.Or(problems[kind], "the directory refuses the order")
}
