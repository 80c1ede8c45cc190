package store

// departing is a table whose rows a tenant takes along.
type departing struct {
	table string
	// where selects the tenant's rows; empty means by tenant_id. It has one parameter.
	where string
	// key orders the rows and is unique among them. An index begins with what where
	// selects by, followed by key, or the tenant has few rows.
	key []string
	// unique are the other columns, besides those of a reference, whose values no two tenants
	// share.
	unique []string
	// of are tables whose rows belong to rows of this one, by a column of each.
	of []child
}

type child struct{ table, column, parent string }

// parts are all tables of a tenant, so that rows come after those to which they
// refer. notCarried names the other tables.
var parts = []departing{
	{table: "tenants", where: "id = ?", key: []string{"id"}},
	{table: "brands", key: []string{"tenant_id"}},
	{table: "api_keys", key: []string{"id"}, unique: []string{"id", "hash"}},
	{table: "tenant_secrets", key: []string{"id"}, unique: []string{"id"}},
	{table: "webhook_endpoints", key: []string{"id"}, unique: []string{"id"}},
	{table: "verifiers", key: []string{"id"}, unique: []string{"id"}},
	{table: "qa_cards", key: []string{"id"}, unique: []string{"id", "link_hash"}},
	{table: "certifications", key: []string{"id"}, unique: []string{"id"}},
	{table: "certified_hosts", key: []string{"host"}},
	{table: "notices", key: []string{"kind", "subject"}},
	{table: "links", where: "kind = 'invitation' AND tenant_id = ?", key: []string{"hash"}, unique: []string{"hash"}},
	{table: "usage_counters", key: []string{"counter", "period"}},
	{table: "credit_balances", key: []string{"tenant_id"}},
	{table: "ledger_entries", key: []string{"created_at", "id"}, unique: []string{"id"}},
	{table: "ledger_days", key: []string{"day", "kind", "source"}},
	{table: "session_hours", key: []string{"livemode", "hour", "target_age", "status", "source"}},
	{table: "api_refusals", key: []string{"livemode", "minute", "route", "status", "type", "loc", "key_id"}},
	{table: "sessions", key: []string{"created_at", "id"}, unique: []string{"id", "link_hash"}, of: []child{
		{"holds", "session_id", "id"}, {"handovers", "link_hash", "link_hash"}, {"wallet_requests", "link_hash", "link_hash"},
	}},
	{table: "idempotency_claims", key: []string{"livemode", "key_hash"}},
	{table: "webhook_events", key: []string{"id"}, unique: []string{"id", "session_id"},
		of: []child{{"webhook_attempts", "event_id", "id"}}},
	{table: "audit_entries", where: "scope = ?", key: []string{"seq"}},
	{table: "audit_heads", where: "scope = ?", key: []string{"scope"}},
	{table: "fold_marks", where: "name IN ?", key: []string{"name"}},
}

// notCarried are the tables of which a tenant takes no rows along, and why.
var notCarried = map[string]string{
	"memberships":     "members are invited to the new place",
	"providers":       "they send users back to the old place's dashboard: set them up again",
	"users":           "a user belongs to an instance",
	"passkeys":        "of users",
	"recovery_codes":  "of users",
	"logins":          "of users",
	"login_flows":     "of users",
	"mails":           "the old place sends what it has promised",
	"throttles":       "counts of failed log-ins",
	"drift_hours":     "of the instance",
	"drift_state":     "of the instance",
	"replicas":        "of the instance",
	"trusted_issuers": "of the instance",
	"trust_lists":     "of the instance",
	"listed_issuers":  "of the instance",
}

// unset are columns that refer to users or processes of the old place.
var unset = map[string][]string{
	"links":          {"created_by"},
	"webhook_events": {"lease_token"},
}

// partOf returns the part of a table, or false. The table may be a child.
func partOf(table string) (departing, bool) {
	for _, p := range parts {
		if p.table == table {
			return p, true
		}
		for _, c := range p.of {
			if c.table == table {
				return departing{table: table}, true
			}
		}
	}
	return departing{}, false
}
