package account

import (
	"context"
	"errors"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"agegate/internal/fault"

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
	MaxEmail = 254 // RFC 5321, section 4.5.3.1.3, less the brackets
)

// newUser returns a user who is not stored yet, with the password hashed. It
// returns fault.Invalid with every field that breaks a rule.
func (s *Service) newUser(ctx context.Context, p Person) (User, error) {
	name, email := strings.TrimSpace(p.Name), normalEmail(p.Email)
	var broken []fault.FieldError
	for _, f := range []fault.FieldError{
		{Field: "name", Err: checkName(name)}, {Field: "email", Err: checkEmail(email)},
		{Field: "password", Err: checkPassword(p.Password, name, email)},
	} {
		if f.Err != nil {
			broken = append(broken, f)
		}
	}
	if broken != nil {
		return User{}, fault.InvalidFields(broken...)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return User{}, err
	}
	hash, err := s.hasher.hash(ctx, p.Password)
	return User{ID: id, Email: email, Name: name, Password: hash, CreatedAt: s.now()}, err
}

// insertUser stores a new user; a taken address is the field's error.
func insertUser(tx Tx, u User) error {
	err := tx.InsertUser(u)
	if fault.CodeOf(err) == fault.Conflict {
		return fault.InvalidFields(fault.FieldError{Field: "email", Err: ErrEmailTaken})
	}
	return err
}

func normalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

func checkName(name string) error {
	n := utf8.RuneCountInString(name)
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) }
	if n == 0 || n > MaxName || !utf8.ValidString(name) || strings.ContainsFunc(name, hidden) {
		return ErrName
	}
	return nil
}

func checkEmail(email string) error {
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > MaxEmail || strings.ContainsFunc(email, unicode.IsSpace) {
		return ErrEmail
	}
	return nil
}
