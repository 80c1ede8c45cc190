package metrics_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const deploy = "../../../deploy/"

// TestAlertsAreDocumented: each alert has a test case and an entry in the runbook.
func TestAlertsAreDocumented(t *testing.T) {
	rules, runbook := read(t, deploy+"prometheus/alerts.yaml"), read(t, "../../../docs/operations/trouble.md")
	cases := read(t, deploy+"prometheus/alerts_test.yaml") + read(t, deploy+"prometheus/alerts_weeks_test.yaml")
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	if len(alerts) == 0 {
		t.Fatal("there are no alerts")
	}
	for _, alert := range alerts {
		if !regexp.MustCompile(`(?s)alertname: ` + alert[1] + `\n[^\n]*\n\s*exp_alerts:`).MatchString(cases) {
			t.Errorf("no case lets %s fire", alert[1])
		}
		if !strings.Contains(runbook, "`"+alert[1]+"`") {
			t.Errorf("the runbook does not say what to do for %s", alert[1])
		}
	}
}

// TestEveryMetricHasAPanel: the Grafana dashboard shows each metric of the gateway.
func TestEveryMetricHasAPanel(t *testing.T) {
	dashboard := read(t, deploy+"grafana/agegate.json")
	for _, name := range regexp.MustCompile(`"(agegate_\w+)"`).FindAllStringSubmatch(read(t, "metrics.go"), -1) {
		if !strings.Contains(dashboard, name[1]) {
			t.Errorf("no panel shows %s", name[1])
		}
	}
}

// inUse returns the names of the metrics that the rules and the Grafana dashboard read, except those that are served
// only with models, with certificates, or by PostgreSQL for the archive and standbys.
func inUse(t *testing.T) []string {
	t.Helper()
	dashboard := read(t, deploy+"grafana/agegate.json")
	if !json.Valid([]byte(dashboard)) {
		t.Fatal("the Grafana dashboard is not JSON")
	}
	names := regexp.MustCompile(`\b(agegate|process)_\w+`).FindAllString(read(t, deploy+"prometheus/alerts.yaml")+
		dashboard, -1)
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc([]string{"inference_", "tls_", "database_archive", "database_standbys",
			"database_replication"},
			func(kind string) bool { return strings.HasPrefix(name, "agegate_"+kind) })
	})
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
