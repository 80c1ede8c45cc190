package account

import (
	"context"
	"errors"
	"net/mail"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// The rules that a person's fields may break, in fault.FieldError.Err.
var (
	ErrName           = errors.New("must be a name of 1 to 100 visible characters")
	ErrEmail          = errors.New("must be an e-mail address")
	ErrEmailTaken     = errors.New("is taken")
	ErrPasswordShort  = errors.New("must have at least 12 characters")
	ErrPasswordLong   = errors.New("must have at most 128 characters")
	ErrPasswordCommon = errors.New("is easily guessed")
)

// Limits of a person's fields, in characters.
const (
	MaxName  = 100
	MaxEmail = 254 // RFC 5321, section 4.5.3.1.3, without the brackets
)

// Person is what a new user enters about themselves. They sign in with a passkey, a password, or both.
type Person struct {
	Name, Email string
	Factor
}

// Factor is a new password, a new passkey, or both.
type Factor struct {
	Password string
	Passkey  string // the response to options to make a passkey, or empty
	// Near are names that the password must not contain: those of the user's tenants.
	Near []string
}

// Check returns fault.Invalid with every field that breaks a rule, or nil. It does not look at the passkey.
func (p Person) Check() error {
	name, email := strings.TrimSpace(p.Name), normalEmail(p.Email)
	broken := slices.DeleteFunc([]fault.FieldError{
		{Field: "name", Err: checkName(name)}, {Field: "email", Err: checkEmail(email)},
		{Field: "password", Err: p.checkPassword(name, email)},
	}, func(f fault.FieldError) bool { return f.Err == nil })
	if len(broken) == 0 {
		return nil
	}
	return fault.InvalidFields(broken...)
}

// SetName changes the user's name. It returns ErrManaged, or fault.Invalid with the field name.
func (s *Service) SetName(ctx context.Context, who Identity, name string) error {
	if err := checkName(name); err != nil {
		return fault.InvalidFields(fault.FieldError{Field: "name", Err: err})
	}
	return s.store.UpdateAccounts(ctx, func(tx Tx) error {
		user, err := tx.LockUser(who.user.ID)
		if err != nil || user.Managed() {
			return orElse(err, ErrManaged)
		}
		if err := tx.SetUser(User{ID: user.ID, Name: name, Email: user.Email}, "Name", "Email"); err != nil {
			return err
		}
		return tx.AppendAudit(s.userAct(who.Actor(), audit.UserRename, user.ID))
	})
}

// newcomer is a user who is not stored yet.
type newcomer struct {
	User
	passkey *usedPasskey
	by      party // whom the work for them is for
}

// newcomer checks what a person has entered on the page of a link. It does not look up whether the address is known.
// It makes the cheap checks first, and then checks the new passkey. It does not hash the password yet. It returns
// fault.Invalid with every field that breaks a rule, a *ThrottleError, or ErrPasskey.
func (s *Service) newcomer(ctx context.Context, link Link, p Person) (newcomer, error) {
	name, email := strings.TrimSpace(p.Name), normalEmail(p.Email)
	if err := p.Check(); err != nil {
		return newcomer{}, err
	}
	by, err := s.attemptLink(ctx, link)
	if err != nil {
		return newcomer{}, err
	}
	id, err := uuid.NewV7()
	n := newcomer{User: User{ID: id, Email: email, Name: name, CreatedAt: s.now()}, by: by}
	if err == nil && p.Passkey != "" {
		var made usedPasskey
		made, err = s.checkNewPasskey(p.Passkey, "")
		n.passkey, n.ID = &made, made.key.UserID
	}
	return n, err
}

// hash hashes the password of a newcomer, who may have none.
func (s *Service) hash(ctx context.Context, n *newcomer, password string) (err error) {
	if password != "" {
		n.Password, err = s.hasher.hash(ctx, n.by, password)
	}
	return err
}

// known returns the user with an address, or the zero user.
func (s *Service) known(ctx context.Context, email string) (User, error) {
	user, err := s.store.UserByEmail(ctx, email)
	if fault.CodeOf(err) == fault.NotFound {
		return User{}, nil
	}
	return user, err
}

// checkPassword checks a password. It may be empty only if there is a passkey.
func (f Factor) checkPassword(name, email string) error {
	if f.Password == "" && f.Passkey != "" {
		return nil
	}
	return checkPassword(f.Password, name, email, f.Near...)
}

// method returns the method by which the user is signed in after setting the factor.
func (f Factor) method() Method {
	if f.Passkey != "" {
		return ByPasskey
	}
	return ByPassword
}

// insert stores a new user with their passkey.
func (n newcomer) insert(tx Tx) error {
	if err := insertUser(tx, n.User); err != nil || n.passkey == nil {
		return err
	}
	return n.passkey.insert(tx)
}

var errTaken = fault.InvalidFields(fault.FieldError{Field: "email", Err: ErrEmailTaken})

// insertUser stores a new user. An address that is already in use is reported for the field email.
func insertUser(tx Tx, u User) error {
	err := tx.InsertUser(u)
	if fault.CodeOf(err) == fault.Conflict {
		return errTaken
	}
	return err
}

func normalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

func checkName(name string) error {
	if !Visible(name, MaxName) {
		return ErrName
	}
	return nil
}

// Visible reports whether text has 1 to limit characters, all of them visible.
func Visible(text string, limit int) bool {
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) }
	return text != "" && utf8.ValidString(text) && utf8.RuneCountInString(text) <= limit &&
		!strings.ContainsFunc(text, hidden)
}

// IsEmail reports whether a text has the form of an e-mail address.
func IsEmail(text string) bool { return checkEmail(strings.TrimSpace(text)) == nil }

func checkEmail(email string) error {
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > MaxEmail || strings.ContainsFunc(email, unicode.IsSpace) {
		return ErrEmail
	}
	return nil
}
