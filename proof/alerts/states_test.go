package alerts

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// state is a world in which Prometheus evaluates all rules.
type state struct {
	name   string
	every  string            // time between two evaluations, as long as the rules in question allow
	series map[string]string // values by name, in promtool's notation, with a sample every two minutes
	firing map[string]string // by time, the alerts that fire then; no other may
}

// Values in promtool's notation. What changes does so after the first hour.
const (
	none   = "0x3000"
	gone   = "0x29 stale"
	breaks = "0x29 1x3000"
	counts = "0x29 0+2x3000"
	ends   = "0+2x29 58x3000"
)

// TestAlertsInAllStates evaluates every rule with no series at all, at a first sample,
// thirty hours later, and in a shop of ten checks an hour.
func TestAlertsInAllStates(t *testing.T) {
	small := smallShop()
	late := map[string]string{}
	for name, values := range small {
		late[name] = values
		if strings.HasPrefix(values, "0x2 ") { // a counter
			late[name] = "5000x3 5001x3000"
		}
	}
	for _, s := range []state{
		{"no series", "10m", nil, map[string]string{"1m": "", "30h": "Gone"}},
		{"a first sample", "2m", map[string]string{`agegate_build_info`: "1", `up`: "1"}, map[string]string{"2m": ""}},
		{"a new gateway, never backed up", "10m", with(small, "last_backup", none),
			map[string]string{"0m": "", "1h": "", "29h": "", "31h": "BackupOld"}},
		{"a gateway that is scraped late", "2m", late, map[string]string{"0m": "", "30m": "", "2h": ""}},
		{"a panic before the first sample", "2m", with(small, "panics", "1x3000"),
			map[string]string{"4m": "Panic", "30m": ""}},
		{"all breaks", "10m", with(small, `instance="b"`, gone, `up{job="age", instance="b"}`, "1x29 0x3000",
			"panics", counts, "archive", breaks, "trust", breaks, "lag", "0x29 536870912x3000",
			"standbys", "2x29 1x3000", "last_backup", "1x29 0x3000", "wait_seconds", "0x29 0+600x3000",
			"certificate", "1000000000x29 0x3000", "oldest_due", "0x29 300x3000", `status="200"`, ends,
			`status="500"`, counts, `le=`, counts, `le="0.5"`, ends, "frame_duration_seconds_count", counts,
			"PENDING", counts, "PASSED", ends, `class="delivered"`, ends, `class="timeout"`, counts),
			map[string]string{"50m": "", "31h": "APIErrors APISlow ArchiveFails BackupOld CertificateEnds " +
				"DatabaseWait FramesSlow IssuerEnds NothingDecided PageErrors Panic ReplicaDown ReplicationLag " +
				"StaffErrors StandbyLost TrustListEnds TrustListFails VerifierEnds WebhooksFailing WebhooksLate"}},
		{"no replica answers", "10m", with(small, "agegate", gone, "up{", "1x29 0x3000"),
			map[string]string{"50m": "", "31h": "BackupOld Gone ReplicaDown"}},
		{"a replica is taken out", "10m", with(small, `instance="b"`, gone), map[string]string{"31h": ""}},
		{"the database cannot be read", "10m", with(small, "queue", gone, "oldest_due", gone, "trust", gone,
			"last_backup", gone, "archive", gone, "standbys", gone, "lag", gone),
			map[string]string{"50m": "", "31h": "BackupOld StateUnknown"}},
		{"a small shop with one fault of each kind in an hour", "2m", with(small, `status="500"`, hourly(1),
			`le="0.5"`, hourly(10), `le="1"`, hourly(15), `le="+Inf"`, hourly(15), `class="timeout"`, hourly(1),
			"SPOOF", hourly(1)), map[string]string{"1h": "", "2h": "", "3h": "", "4h": "", "5h": ""}},
		{"a small shop in which nothing works", "2m", with(small, `status="500"`, hourly(10), `status="200"`, none,
			`le="0.5"`, none, "PASSED", none, `class="delivered"`, none, `class="timeout"`, hourly(10)),
			map[string]string{"10m": "FramesSlow", "1h": "APIErrors APISlow FramesSlow PageErrors StaffErrors",
				"4h": "APIErrors APISlow FramesSlow NothingDecided PageErrors StaffErrors WebhooksFailing"}},
		{"a small shop under attack", "30m", with(small, "PASSED", "0+1x2160 2161+0x900", "SPOOF", "0x2160 0+0.2x900",
			"last_backup", "300000x3000"),
			map[string]string{"70h": "", "95h": "PassRateFell SpoofSurge"}},
	} {
		t.Run(s.name, func(t *testing.T) { s.test(t) })
	}
}

// hourly is a counter that counts so many an hour, a divisor of 30, for a few days.
func hourly(n int) string {
	values := make([]string, 100*n)
	for i := range values {
		values[i] = fmt.Sprintf("%dx%d", i, 30/n-1)
	}
	return strings.Join(values, " ")
}

// smallShop returns all series that the rules read, of a shop of ten checks an hour with
// two replicas. All is well.
func smallShop() map[string]string {
	s := map[string]string{
		"agegate_panics_total":             none,
		"agegate_database_archive_failing": none, "agegate_database_replication_lag_bytes": none,
		"agegate_database_standbys":                               "2x3000",
		`agegate_tls_certificate_end_timestamp_seconds{host="a"}`: "1000000000x3000",
		`agegate_checks_total{ended="passed"}`:                    hourly(10),
		"agegate_frame_duration_seconds_count":                    hourly(30),
	}
	for _, replica := range []string{`job="age", instance="a"}`, `job="age", instance="b"}`} {
		for name, values := range map[string]string{
			"up": "1x3000", "agegate_build_info": "1x3000", "agegate_webhook_queue_depth": none,
			"agegate_webhook_oldest_due_seconds": none, "agegate_trust_lists_failing": none,
			"agegate_database_last_backup_timestamp_seconds": "1x700 86400x3000",
			"agegate_database_wait_seconds_total":            none,
		} {
			s[name+"{"+replica] = values
		}
	}
	for _, of := range []string{"list", "signer", "issuer", "verifier", "registration"} {
		s[`agegate_trust_ending{of="`+of+`"}`] = none
	}
	for _, route := range []string{"/api/v1/sessions/create", "/v/:token", "/dashboard/sessions"} {
		s[`agegate_http_request_duration_seconds_count{route="`+route+`", status="200"}`] = hourly(10)
		s[`agegate_http_request_duration_seconds_count{route="`+route+`", status="500"}`] = none
	}
	for _, le := range []string{"0.5", "1", "+Inf"} {
		s[`agegate_http_request_duration_seconds_bucket{route="/api/v1/sessions/create", le="`+le+`"}`] = hourly(10)
		s[`agegate_frame_duration_seconds_bucket{instance="a", le="`+le+`"}`] = hourly(30)
	}
	for _, status := range []string{"PENDING", "PASSED", "FALLBACK", "SPOOF"} {
		s[`agegate_sessions_total{mode="live", status="`+status+`"}`] = hourly(10)
	}
	for _, class := range []string{"delivered", "timeout"} {
		s[`agegate_webhook_attempts_total{mode="live", class="`+class+`"}`] = hourly(10)
	}
	return with(s, "FALLBACK", none, "SPOOF", none, "timeout", none)
}

// with returns series of which those whose names hold the first, third, … string have the
// values that follow it. Later ones win.
func with(series map[string]string, changes ...string) map[string]string {
	series = maps.Clone(series)
	for i := 0; i < len(changes); i += 2 {
		for name := range series {
			if strings.Contains(name, changes[i]) {
				series[name] = changes[i+1]
			}
		}
	}
	return series
}

// test lets promtool evaluate all rules in the state.
func (s state) test(t *testing.T) {
	t.Helper()
	t.Parallel()
	type object = map[string]any
	var series, tests []object
	for name, values := range s.series {
		series = append(series, object{"series": name, "values": values})
	}
	for at, names := range s.firing {
		samples := []object{}
		for name := range strings.FieldsSeq(names) {
			samples = append(samples, object{"labels": `{alertname="Agegate` + name + `"}`, "value": 1})
		}
		tests = append(tests, object{"expr": `group by (alertname) (ALERTS{alertstate="firing"})`, "eval_time": at,
			"exp_samples": samples})
	}
	at, err := filepath.Abs(rules + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(object{"rule_files": []string{at}, "evaluation_interval": s.every, "tests": []object{
		{"interval": "2m", "input_series": series, "promql_expr_test": tests}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "state.yaml") // JSON is YAML
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
