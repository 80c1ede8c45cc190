package security

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"agegate/proof/table"
)

// The tests of the webhook client's guard are in its own package. The full run
// repeats and counts them, so that the table is complete.
func TestSpecialAddresses(t *testing.T) {
	table.Beside(t)
	if !table.Full() {
		return
	}
	r := table.New(t, "Special addresses: literal, name, redirect, rebinding")
	output, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v",
		"-run", "^(TestSpecialAddressesAreNeverReached|TestOddSpellingsAreNeverReached)$",
		"agegate/internal/rules/webhook").CombinedOutput()
	passed := strings.Count(string(output), "    --- PASS: TestSpecialAddressesAreNeverReached/")
	failed := strings.Count(string(output), "--- FAIL: ")
	r.Didf("%d ways to a private address", passed+failed)
	if err != nil {
		t.Logf("%s", output)
	}
	r.Mark("refused before a connection", ">= 172", strconv.Itoa(passed), passed >= 43*4)
	r.Mark("reached", "0", strconv.Itoa(failed), failed == 0 && err == nil)
}
