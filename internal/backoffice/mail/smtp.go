package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/mail"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"agegate/internal/rules/webhook"

	"github.com/google/uuid"
	smtp "github.com/wneessen/go-mail"
)

// Server is the operator's mail server.
type Server struct {
	host               string
	port               int
	username, password string
	wrapped            bool        // TLS from the first byte
	bare               bool        // no encryption is needed on the way
	From               string      // sender of all mails, as RFC 5322 writes it
	TLS                *tls.Config // nil: the system's authorities
}

var errServer = errors.New("must be smtp://host, which has to offer STARTTLS, or smtps://host, with user:password@ " +
	"before the host where they are needed")

// ParseServer reads a server's address, which may hold credentials and is not part of the error. smtp:// requires
// STARTTLS, except on this machine; smtps:// uses TLS from the start.
func ParseServer(address string) (Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "smtp" &&
		u.Scheme != "smtps" {
		return Server{}, errServer
	}
	s := Server{host: u.Hostname(), port: 587, wrapped: u.Scheme == "smtps"}
	if s.wrapped {
		s.port = 465
	}
	if u.Port() != "" {
		if s.port, err = strconv.Atoi(u.Port()); err != nil || s.port < 1 || s.port > 65535 {
			return Server{}, errServer
		}
	}
	s.username = u.User.Username()
	s.password, _ = u.User.Password()
	ip := net.ParseIP(s.host)
	s.bare = s.host == "localhost" || ip != nil && ip.IsLoopback()
	return s, nil
}

// CheckFrom reports whether an address can be the sender of mails.
func CheckFrom(address string) error {
	if _, err := mail.ParseAddress(address); err != nil {
		return errors.New("must be an e-mail address, such as agegate <no-reply@example.com>")
	}
	return nil
}

// sendTime bounds one attempt.
const sendTime = 30 * time.Second

// failure is the reason why a mail was not accepted. It has none of the server's words, which may name the recipient.
type failure struct {
	code  int    // of the server's answer; 0 for none
	why   string // there was no answer
	final bool   // it will not be taken later either
}

// failureOf returns the failure for an error of the client; nil for none. An answer about this recipient or letter is
// final. Those about the sender, the log-in or what the server relays are the operator's to mend.
func failureOf(err error) error {
	if err == nil {
		return nil
	}
	if answer, ok := errors.AsType[*smtp.SendError](err); ok && answer.ErrorCode() >= 400 {
		return &failure{code: answer.ErrorCode(), final: answer.ErrorCode() >= 500 &&
			answer.Reason != smtp.ErrSMTPMailFrom && !strings.HasPrefix(answer.EnhancedStatusCode(), "5.7.")}
	}
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		return &failure{code: answer.Code}
	}
	_, network := errors.AsType[net.Error](err)
	if !network && webhook.Classify(err) == webhook.ClassConnect {
		return &failure{why: "it does not offer STARTTLS, or no way to log in that agegate knows"}
	}
	return &failure{why: webhook.Reason(err)}
}

func (f *failure) Error() string {
	if f.code == 0 {
		return "the mail server cannot be used: " + f.why
	}
	return "the mail server answered " + strconv.Itoa(f.code)
}

// send hands a letter to the server.
func (s Server) send(ctx context.Context, id uuid.UUID, at time.Time, l letter) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	msg := smtp.NewMsg(smtp.WithNoDefaultUserAgent())
	if msg.From(s.From) != nil || msg.To(l.To) != nil {
		return &failure{why: "the sender or the recipient is no address", final: true}
	}
	msg.Subject(l.Subject)
	msg.SetDateWithValue(at)
	msg.SetMessageIDWithValue(id.String() + "@agegate") // the same at every attempt
	msg.SetBodyString(smtp.TypeTextPlain, l.Body)
	client, err := smtp.NewClient(s.host, s.options()...)
	if err != nil {
		return failureOf(err)
	}
	return failureOf(client.DialAndSendWithContext(ctx, msg))
}

// Check connects to the server, encrypts the connection and authenticates, as for a
// mail, and sends none. Of the server's answer, its error has only the code.
func (s Server) Check(ctx context.Context) error {
	client, err := smtp.NewClient(s.host, s.options()...)
	if err != nil {
		return failureOf(err)
	}
	defer func() { _ = client.Close() }() // nothing is sent
	return failureOf(client.DialWithContext(ctx))
}

func (s Server) options() []smtp.Option {
	policy := smtp.TLSMandatory
	if s.bare {
		policy = smtp.TLSOpportunistic
	}
	settings := s.TLS
	if settings == nil {
		settings = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.host}
	}
	options := []smtp.Option{smtp.WithPort(s.port), smtp.WithTimeout(sendTime), smtp.WithTLSPolicy(policy),
		smtp.WithTLSConfig(settings)}
	if s.wrapped {
		options = append(options, smtp.WithSSL())
	}
	if s.username != "" {
		options = append(options, smtp.WithSMTPAuth(smtp.SMTPAuthAutoDiscover), smtp.WithUsername(s.username),
			smtp.WithPassword(s.password))
	}
	return options
}
