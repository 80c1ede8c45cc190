// Package alerts runs the alert rules' own cases through Prometheus' promtool.
package alerts

import (
	"os/exec"
	"strings"
	"testing"
)

const rules = "../../deploy/prometheus/alerts"

// TestAlertRules runs the rules' own cases.
func TestAlertRules(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("%v: it is in Debian's package prometheus, which `make deps` installs", err)
	}
	for _, args := range [][]string{
		{"check", "rules", "--lint-fatal", rules + ".yaml"},
		{"test", "rules", rules + "_test.yaml", rules + "_weeks_test.yaml"},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
