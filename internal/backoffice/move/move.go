// Package move takes a tenant with everything that belongs to it from one
// database to another: to a larger one, or to another cluster. The database that
// it leaves refuses every change from the moment of the export, so the two never
// act for the tenant at the same time.
package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// Members is the table of a record that is a member: email, name and role. It is
// no table of the database.
const Members = "members"

// ErrMoved is returned by Store.Check and Store.Arrive for a tenant that has arrived
// from this very export before.
var ErrMoved = fault.New(fault.Conflict, "the tenant has arrived already")

// Store reads and writes tenants that move.
type Store interface {
	// Leave marks a tenant as leaving and returns the move's ID, which is next unless
	// it is leaving already. When it returns, nothing about the tenant changes any more
	// except that deliveries under way end. The act is written if it is not leaving yet.
	Leave(ctx context.Context, tenantID, next uuid.UUID, act audit.Act) (uuid.UUID, error)
	// Stay ends Leave, or fails with fault.Conflict for a tenant that is not leaving.
	Stay(ctx context.Context, tenantID uuid.UUID, act audit.Act) error
	// Forward keeps where the hosted pages of a leaving tenant are now, or fails with
	// fault.Conflict for a tenant that is not leaving.
	Forward(ctx context.Context, tenantID uuid.UUID, to string, act audit.Act) error
	// UnderWay returns how many of the tenant's deliveries are being attempted.
	UnderWay(ctx context.Context, tenantID uuid.UUID) (int64, error)
	// Departing calls visit for everything that belongs to a leaving tenant, as of one
	// moment, the tenant itself first. Rows that refer to others come after them.
	Departing(ctx context.Context, tenantID uuid.UUID, visit func(Record) error) error

	// Check fails with fault.Conflict if a record can not be written because a row of
	// another tenant, or of a tenant that did not come by this move, has its keys; and with
	// ErrMoved. It fails for a table or column that this release does not have.
	Check(ctx context.Context, head Header, records []Record) error
	// Arrive writes records that are not there yet, the tenant first. Until Settle the
	// tenant is arriving, and nothing about it changes in another way.
	Arrive(ctx context.Context, head Header, records []Record) error
	// Settle writes the balances and the invitations, and puts the tenant into use. Both
	// acts are written in the same transaction.
	Settle(ctx context.Context, head Header, balances []Record, invitations []account.Link, act audit.Act) error
}

// batch is how many records are checked or written in one transaction.
const batch = 200

// Service moves tenants.
type Service struct {
	store  Store
	sealer *credential.Sealer
	random io.Reader
	now    func() time.Time
}

// NewService returns the service over a store, whose sealed values the sealer
// opens and makes.
func NewService(store Store, sealer *credential.Sealer, random io.Reader, now func() time.Time) *Service {
	return &Service{store, sealer, random, now}
}

func (s *Service) act(actor audit.Actor, action audit.Action, tenantID uuid.UUID, params map[string]string) audit.Act {
	return audit.Act{
		Scope: audit.OfTenant(tenantID), At: s.now(), Actor: actor, Action: action, Target: tenantID.String(),
		Detail: audit.Detail{Params: params},
	}
}

// Export marks a tenant as leaving, waits for its deliveries under way, and
// writes its file. verifyURL is the address of the hosted page here. It can be
// repeated: nothing has changed meanwhile.
func (s *Service) Export(
	ctx context.Context, actor audit.Actor, tenantID uuid.UUID, verifyURL, passphrase string, out io.Writer,
) (Counts, error) {
	if len(passphrase) < MinPassphrase {
		return nil, ErrWeak
	}
	next, err := uuid.NewRandomFromReader(s.random)
	if err != nil {
		return nil, err
	}
	id, err := s.store.Leave(ctx, tenantID, next, s.act(actor, audit.TenantExport, tenantID, nil))
	if err != nil {
		return nil, err
	}
	if err := s.awaitDeliveries(ctx, tenantID); err != nil {
		return nil, err
	}
	w, err := NewWriter(out, passphrase, Header{Move: id, Tenant: tenantID, MadeAt: s.now(), VerifyURL: verifyURL})
	if err != nil {
		return nil, err
	}
	err = s.store.Departing(ctx, tenantID, func(r Record) error {
		keep, err := s.unseal(r)
		if err != nil || !keep {
			return err
		}
		return w.Write(r)
	})
	if err != nil {
		return nil, err
	}
	return w.Close()
}

// awaitDeliveries waits until no delivery of the tenant is being attempted.
func (s *Service) awaitDeliveries(ctx context.Context, tenantID uuid.UUID) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		n, err := s.store.UnderWay(ctx, tenantID)
		if err != nil || n == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Stay takes a leaving tenant back into use. Call it only if the tenant's file
// was not imported anywhere.
func (s *Service) Stay(ctx context.Context, actor audit.Actor, tenantID uuid.UUID) error {
	return s.store.Stay(ctx, tenantID, s.act(actor, audit.TenantStay, tenantID, nil))
}

// Forward leads browsers that open a leaving tenant's pages here to the same path at
// another address, without a path of its own. Call it once the tenant has arrived there.
func (s *Service) Forward(ctx context.Context, actor audit.Actor, tenantID uuid.UUID, to string) error {
	return s.store.Forward(ctx, tenantID, to, s.act(actor, audit.TenantForward, tenantID, map[string]string{"to": to}))
}

// Invited is a member of the tenant at its old place, with the token of an
// invitation to the new one.
type Invited struct {
	Email string
	Role  account.Role
	Token string
}

// Imported is the result of Import.
type Imported struct {
	Tenant  uuid.UUID
	Already bool // by an earlier run
	Counts  Counts
	Invited []Invited
}

// Import reads a file twice: first to check all of it, then to write it. It can be
// stopped and repeated. verifyURL is the address of the hosted page here.
func (s *Service) Import(
	ctx context.Context, actor audit.Actor, verifyURL, passphrase string, file io.ReadSeeker,
) (Imported, error) {
	head, err := s.each(ctx, file, passphrase, takeAll, func(head Header, records []Record) error {
		return s.store.Check(ctx, head, records)
	})
	done := Imported{Tenant: head.Tenant}
	if errors.Is(err, ErrMoved) {
		done.Already = true
		return done, nil
	}
	if err != nil {
		return done, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return done, err
	}
	a := &arrival{Service: s, unbind: !sameHost(head.VerifyURL, verifyURL), counts: Counts{}}
	if _, err = s.each(ctx, file, passphrase, a.take, func(head Header, records []Record) error {
		return s.store.Arrive(ctx, head, records)
	}); err != nil {
		return done, err
	}
	links, invited, err := a.invitations(head.Tenant)
	if err != nil {
		return done, err
	}
	act := s.act(actor, audit.TenantImport, head.Tenant, map[string]string{"made_at": head.MadeAt.Format(time.RFC3339)})
	err = s.store.Settle(ctx, head, a.balances, links, act)
	done.Counts, done.Invited = a.counts, invited
	return done, err
}

// each reads a file and calls do for batches of those records that take
// returns true for. It always reads the file to its end.
func (s *Service) each(
	ctx context.Context, file io.Reader, passphrase string, take func(Record) (bool, error),
	do func(Header, []Record) error,
) (Header, error) {
	r, err := NewReader(file, passphrase)
	if err != nil {
		return Header{}, err
	}
	var records []Record
	for first := true; ; first = false {
		record, err := r.Next()
		last := err == io.EOF
		switch {
		case last:
		case err != nil:
			return r.Header, err
		case first && (record.Table != "tenants" || record.Row["id"] != r.Header.Tenant.String()):
			return r.Header, ErrDamaged
		default:
			keep, err := take(record)
			if err != nil {
				return r.Header, err
			}
			if keep {
				records = append(records, record)
			}
		}
		if len(records) == batch || last && len(records) > 0 {
			if err := errors.Join(ctx.Err(), do(r.Header, records)); err != nil {
				return r.Header, err
			}
			records = records[:0]
		}
		if last {
			return r.Header, nil
		}
	}
}

// takeAll is take of a reading that only checks.
func takeAll(Record) (bool, error) { return true, nil }

// arrival prepares the records of a file for the database.
type arrival struct {
	*Service
	unbind   bool // sessions and hand-overs from their browsers, whose cookies stay at the old host
	balances []Record
	members  []Record
	counts   Counts
}

// take seals a record's secret under the key used here. It keeps back what is
// written last.
func (a *arrival) take(r Record) (bool, error) {
	a.counts[r.Table]++
	switch r.Table {
	case Members:
		a.members = append(a.members, r)
		return false, nil
	case "usage_counters", "credit_balances":
		a.balances = append(a.balances, r)
		return false, nil
	case "sessions":
		if a.unbind && r.Row["status"] == "PENDING" {
			r.Row["browser_hash"] = nil
		}
	case "handovers":
		if a.unbind {
			r.Row["phone_hash"] = nil
		}
	}
	return true, a.seal(r)
}

// invitations returns an invitation for each member. Only one can be for the
// first owner, so further owners are invited as developers.
func (a *arrival) invitations(tenantID uuid.UUID) (links []account.Link, invited []Invited, err error) {
	owned := false
	for _, m := range a.members {
		email, _ := m.Row["email"].(string)
		text, _ := m.Row["role"].(string)
		role := account.Role(text)
		if role == account.Owner && owned {
			role = account.Developer
		}
		owned = owned || role == account.Owner
		token, err := credential.NewLinkToken(a.random)
		if err != nil {
			return nil, nil, err
		}
		links = append(links, account.Link{
			Hash: credential.HashToken(token), Kind: account.LinkInvitation, TenantID: &tenantID, Role: role,
			CreatedAt: a.now(), ExpiresAt: a.now().Add(account.InvitationTTL),
		})
		invited = append(invited, Invited{email, role, token})
	}
	return links, invited, nil
}

// sameHost reports whether browsers send the cookies of one address to the other.
func sameHost(a, b string) bool {
	left, err := url.Parse(a)
	right, err2 := url.Parse(b)
	return err == nil && err2 == nil && left.Hostname() != "" && left.Hostname() == right.Hostname()
}

// String lists the counts of tables, for messages.
func (c Counts) String() string {
	return fmt.Sprintf("%d sessions, %d events, %d ledger entries, %d keys", c["sessions"], c["webhook_events"],
		c["ledger_entries"], c["api_keys"])
}
