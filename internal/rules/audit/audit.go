// Package audit defines the log of changes by staff, the operator's command line and the gateway itself. It does not
// cover traffic. An entry is written in the transaction of its act: an act that fails leaves none, and an act whose
// entry cannot be written is rolled back. API calls and shoppers write no entries, so they never wait for the log.
// Test sessions that staff create and a user's choice of language write none either.
//
// The entries of one scope form a chain: each holds the hash of the one before,
// so that Verify finds rows that were changed, removed or inserted later.
package audit

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"agegate/internal/rules/fault"
)

// Scope identifies a log: one tenant's, or the instance's.
type Scope string

// Instance is the log of acts that concern no single tenant, and of deletions of
// tenants. The log of a deleted tenant is kept.
const Instance Scope = "instance"

// OnTenants selects, in a Filter only, what operators and the command line did on all
// tenants, from the tenants' logs.
const OnTenants Scope = "tenants"

// OfTenant returns the scope of a tenant's log.
func OfTenant(id uuid.UUID) Scope { return Scope(id.String()) }

// Kind is the kind of an actor.
type Kind string

// The kinds of actor.
const (
	KindUser     Kind = "user"     // a member of the tenant
	KindOperator Kind = "operator" // a user who acts as operator of the instance
	KindCLI      Kind = "cli"      // a person with a shell on the server
	KindSystem   Kind = "system"   // the gateway itself
)

// Actor identifies the person or program that acts. The zero Actor is refused when its entry is written.
type Actor struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`   // a user's or a test key's; of the command line: that of the system's user
	Name string `json:"name"` // at that time; empty if unknown
}

// User returns a user as an actor.
func User(id uuid.UUID, name string) Actor { return Actor{KindUser, id.String(), name} }

// Operator returns a user who acts as operator, as an actor.
func Operator(id uuid.UUID, name string) Actor { return Actor{KindOperator, id.String(), name} }

// System returns a part of the gateway as an actor.
func System(name string) Actor { return Actor{KindSystem, "", name} }

// TestKey is the actor of changes that a request with a test key makes.
func TestKey(id uuid.UUID) Actor { return Actor{KindSystem, id.String(), "API, test key"} }

// IsTestKey reports that the actor is a TestKey.
func (a Actor) IsTestKey() bool { return a.Kind == KindSystem && a.Name == TestKey(uuid.Nil).Name }

// Bounds of what test keys can write: a program that holds one may repeat a request without end.
const (
	// MaxTestActs is how many entries of a tenant's log may be younger than
	// TestActsPeriod when a test key adds one.
	MaxTestActs    = 600
	TestActsPeriod = time.Hour
)

// TooManyTestActs returns the fault for a change with a test key while the log grows
// too fast. oldest is the time of the entry that is MaxTestActs before the next one.
func TooManyTestActs(oldest, now time.Time) *fault.Error {
	return fault.New(fault.TooMany, "Too many changes with a test key").After(oldest.Add(TestActsPeriod).Sub(now))
}

// Act is an entry before it is written.
type Act struct {
	Scope  Scope
	At     time.Time
	Actor  Actor
	Action Action
	Target string // ID of the affected thing
	Detail Detail
}

// Detail describes an act further. It must never contain a secret, a key, a token
// or the path of a callback URL.
type Detail struct {
	// Params are the values that the actor gave, such as "mode": "live".
	Params map[string]string `json:"params,omitempty"`
	// Changes are the settings that changed.
	Changes []Change `json:"changes,omitempty"`
}

// Change is a setting that an act changed. An empty value means that the setting was not set. For a
// callback URL only host and port are recorded, so both values may be equal. For a picture its hash
// is recorded.
type Change struct {
	Setting string `json:"setting"`
	Old     string `json:"old,omitempty"`
	New     string `json:"new,omitempty"`
}

// Entry is one written entry.
type Entry struct {
	Scope Scope `gorm:"primaryKey"                     json:"scope"`
	Seq   int64 `gorm:"primaryKey;autoIncrement:false" json:"seq"` // from 1, without gaps
	// At is UTC in whole microseconds, by the clock of the process that acted.
	At     time.Time `json:"at"`
	Actor  Actor     `gorm:"embedded;embeddedPrefix:actor_" json:"actor"`
	Action Action    `json:"action"`
	Target string    `json:"target"`
	// Detail is a Detail, in the bytes that were hashed.
	Detail   json.RawMessage `gorm:"serializer:text" json:"detail"`
	PrevHash Hash            `gorm:"serializer:hash" json:"prev_hash"`
	Hash     Hash            `gorm:"serializer:hash" json:"hash"`
}

// Details returns the entry's Detail, the zero Detail if it cannot be read.
func (e Entry) Details() (d Detail) {
	if json.Unmarshal(e.Detail, &d) != nil {
		return Detail{}
	}
	return d
}

// Tx is the part of a transaction that writes entries.
type Tx interface {
	// AppendAudit writes an entry at the end of its scope's chain, and locks that end
	// until the transaction ends. It must be the last statement of the transaction, so
	// that the lock is short and two transactions never wait for each other. A
	// transaction that writes to several scopes writes in their order, so to Instance last.
	AppendAudit(act Act) error
}

// Filter selects entries; a zero field does not restrict the selection. Scope must be set.
type Filter struct {
	Scope   Scope
	Action  Action
	ActorID string
	Before  int64 // a sequence number: only entries before it, for the next page
	In      Scope // whose sequence number Before is, with OnTenants
	Limit   int   // 1 to MaxPage; 0 is MaxPage
	Target  string
	// From and To are the earliest and the latest time; zero for no bounds.
	From, To time.Time
}

// MaxPage is the largest number of entries returned at once.
const MaxPage = 100

// Store reads the log.
type Store interface {
	// AuditEntries returns the entries the filter selects, newest first.
	AuditEntries(ctx context.Context, f Filter) ([]Entry, error)
	// AuditChain returns the entries of a scope after a sequence number, oldest first, at most
	// limit.
	AuditChain(ctx context.Context, scope Scope, after int64, limit int) ([]Entry, error)
	// AuditHead returns the end of a scope's chain, or the zero Head if the chain is empty.
	AuditHead(ctx context.Context, scope Scope) (Head, error)
	// AuditScopes returns at most limit scopes with entries in ascending order,
	// starting after the given one.
	AuditScopes(ctx context.Context, after Scope, limit int) ([]Scope, error)
}
