package account

import "slices"

// Role determines what a member may do in a tenant: see Role.May.
type Role string

// The roles.
const (
	Owner      Role = "owner"
	Developer  Role = "developer"
	Viewer     Role = "viewer"
	Support    Role = "support"
	Compliance Role = "compliance"
)

// Right is something that members of a tenant may do.
type Right int

// The rights.
const (
	BeMember     Right = iota + 1 // leave the tenant
	ReadSessions                  // the overview, sessions, webhook events and Search
	ReadSettings                  // settings and billing
	ReadRefusals                  // refused API calls
	ReadAudit                     // the audit log
	Prove                         // evidence packs, and the audit log as a file
	Resend                        // webhook events
	Develop                       // keys, secrets, callback URLs and the test tools
	Own                           // settings, the team, and to delete sessions
)

// rights is the only place that defines what a role may do.
var rights = map[Role][]Right{
	Owner:      {BeMember, ReadSessions, ReadSettings, ReadRefusals, ReadAudit, Prove, Resend, Develop, Own},
	Developer:  {BeMember, ReadSessions, ReadSettings, ReadRefusals, ReadAudit, Resend, Develop},
	Viewer:     {BeMember, ReadSessions, ReadSettings, ReadRefusals},
	Support:    {BeMember, ReadSessions, Resend},
	Compliance: {BeMember, ReadRefusals, ReadAudit, Prove},
}

// Roles returns the roles in the order in which they are offered.
func Roles() []Role { return []Role{Owner, Developer, Support, Compliance, Viewer} }

// May reports whether the role has the right. An unknown role has none.
func (r Role) May(right Right) bool { return slices.Contains(rights[r], right) }
