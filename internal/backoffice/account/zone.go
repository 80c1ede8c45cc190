package account

import (
	"context"
	"errors"
	"regexp"
	"time"
	_ "time/tzdata" // a server without a zone database serves people with zones

	"agegate/internal/rules/fault"
)

// ErrZone is the rule that a time zone is one of the IANA database.
var ErrZone = errors.New("must be the name of a time zone such as Europe/Berlin")

// zoneName matches the names of the IANA database. The server's own zone, which Go calls Local, has none.
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$`)

// Location returns the time zone in which the user sees times, UTC if none was chosen.
func (u User) Location() *time.Location {
	zone, err := location(u.Zone)
	if err != nil {
		return time.UTC // the database of zones no longer has it
	}
	return zone
}

func location(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if len(name) > 64 || name == "Local" || !zoneName.MatchString(name) {
		return nil, ErrZone
	}
	return time.LoadLocation(name)
}

// SetZone sets the time zone in which the user sees times, "" for UTC. It returns fault.Invalid with the field zone.
func (s *Service) SetZone(ctx context.Context, who Identity, name string) error {
	if _, err := location(name); err != nil {
		return fault.InvalidFields(fault.FieldError{Field: "zone", Err: ErrZone})
	}
	return s.store.UpdateAccounts(ctx, func(tx Tx) error { return tx.SetUser(User{ID: who.user.ID, Zone: name}, "Zone") })
}
