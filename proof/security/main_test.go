package security

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/dbtest"
	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

func TestMain(m *testing.M) {
	flag.Parse()
	table.SideBySide(6)            // what is tested beside others mostly waits
	gatewaytest.PasswordMemory = 0 // the costs of attacks on passwords are measured
	code := m.Run()
	table.Print(os.Stdout)
	os.Exit(code)
}

// modelsDir returns the directory of the models.
func modelsDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../models")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// onEach runs an attack against a gateway with models, on SQLite and on
// PostgreSQL.
func onEach(t *testing.T, name string, attack func(t *testing.T, g *gatewaytest.Gateway, r *table.Row)) {
	settings := []string{
		"AGEGATE_ESTIMATOR=onnx", "AGEGATE_MODELS_DIR=" + modelsDir(t), "AGEGATE_INFERENCE_WORKERS=1",
		"AGEGATE_TEST_DAILY_CAP=-1", "AGEGATE_FREE_CHECKS_PER_MONTH=-1",
	}
	if table.Full() {
		t.Run("sqlite", func(t *testing.T) {
			attack(t, gatewaytest.Start(t, dbtest.SQLiteOnDisk(t), settings...), table.New(t, name+", SQLite"))
		})
	}
	t.Run("postgres", func(t *testing.T) {
		attack(t, gatewaytest.Start(t, pgtest.URL(t), settings...), table.New(t, name+", PostgreSQL"))
	})
}

// consenting edits a tenant so that every page of the gateway can be reached.
func consenting(shop *tenant.Tenant) { shop.AgeVisibility, shop.DocumentCheck = true, true }
