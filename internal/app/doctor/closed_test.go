package doctor_test

import (
	"context"
	"testing"
	"time"

	"agegate/internal/app/config"
	"agegate/internal/app/doctor"
	"agegate/internal/gatewaytest"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// TestTenantsNobodyCanPass: doctor calls it a problem, and names the tenants.
func TestTenantsNobodyCanPass(t *testing.T) {
	const check = "ways to pass"
	g := start(t, gatewaytest.SQLite(t))
	want(t, examine(t, at(g, g.URL)...), check, doctor.OK, "every tenant")
	shop := g.Shop(t, "", func(t *tenant.Tenant) { t.Name = "Corner" }).Tenant
	named := "(1): Corner (" + shop.ID.String() + ", no "
	want(t, examine(t, at(g, g.URL)...), check, doctor.Problem, named+"camera)")
	on := append(at(g, g.URL), "AGEGATE_ESTIMATOR=onnx", "AGEGATE_MODELS_DIR=../../../models")
	want(t, examine(t, on...), check, doctor.OK, "every tenant")
	g.Exec(t, "UPDATE tenants SET document_check = true, document_only = true, document_ways = 'wallet'")
	want(t, examine(t, on...), check, doctor.Problem, named+"document)")
	g.Exec(t, "UPDATE tenants SET document_ways = ''")
	want(t, examine(t, on...), check, doctor.OK, "every tenant")
	want(t, examine(t, append(on, "AGEGATE_DOCUMENT_WAYS=wallet")...), check, doctor.Problem, named+"document)")
}

// TestUnreadIssuersCloseNothing: if the trusted issuers cannot be read, no page says that documents are closed.
func TestUnreadIssuersCloseNothing(t *testing.T) {
	g := start(t, gatewaytest.SQLite(t))
	ctx, end := context.WithCancel(t.Context())
	end()
	cfg := config.Config{DocumentWays: []session.Way{session.WayWallet}}
	why, err := doctor.Closing(ctx, cfg, g.App.Store, time.Now())(tenant.Tenant{DocumentOnly: true})
	if why != "" || err == nil {
		t.Errorf("%q, %v", why, err)
	}
}

// TestTenantsWithoutChecks: doctor warns of them by name.
func TestTenantsWithoutChecks(t *testing.T) {
	const check = "checks left"
	g := start(t, gatewaytest.SQLite(t))
	want(t, examine(t, at(g, g.URL)...), check, doctor.OK, "every tenant")
	none, one := int64(0), int64(1)
	shop := g.Shop(t, "", func(t *tenant.Tenant) { t.Name, t.FreeChecks = "Corner", &none }).Tenant
	g.Shop(t, "", func(t *tenant.Tenant) { t.Name, t.FreeChecks = "Well", &one })
	g.Shop(t, "", func(t *tenant.Tenant) { t.Name, t.FreeChecks, t.Disabled = "Closed", &none, true })
	want(t, examine(t, at(g, g.URL)...), check, doctor.Warning, "(1): Corner ("+shop.ID.String()+")")
	unlimited := append(at(g, g.URL), "AGEGATE_FREE_CHECKS_PER_MONTH=-1")
	g.Exec(t, "UPDATE tenants SET free_checks = NULL")
	want(t, examine(t, unlimited...), check, doctor.OK, "every tenant")
}
