package main

import (
	"context"
	"strconv"
	"strings"

	"agegate/internal/app"
	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// samples lists the sessions that the demo begins with: their target ages and
// results. A session without a result stays open. Their orders are numbered from
// firstOrder on.
var samples = []struct {
	age    int
	result session.Result
}{
	{18, session.ResultVerified}, {18, session.ResultVerified}, {21, session.ResultFallback}, {18, session.ResultVerified},
	{16, session.ResultVerified}, {18, session.ResultSpoof}, {18, session.ResultVerified}, {21, session.ResultVerified},
	{18, session.ResultFallback}, {18, session.ResultVerified}, {18, ""}, {21, session.ResultVerified},
}

const firstOrder = 1042

// createSamples creates sample sessions for the dashboard if a tenant has no test
// sessions. They are created, opened and forced as by a backend and shoppers, and
// their webhooks are sent. It does nothing if the tenant has reached its daily
// cap.
func createSamples(ctx context.Context, gateway *app.App, tenantID uuid.UUID) error {
	found, err := gateway.Insight.Sessions(ctx, insight.Scope{TenantID: tenantID}, insight.SessionFilter{}, uuid.Nil)
	if err != nil || len(found.Rows) > 0 || found.Next != uuid.Nil {
		return err
	}
	shop, err := gateway.Tenants.Tenant(ctx, tenantID)
	if err != nil {
		return err
	}
	for i, s := range samples {
		back := shop.SuccessURL + "?order=" + strconv.Itoa(firstOrder+i)
		created, err := gateway.Sessions.Create(ctx, tenant.Caller{TenantID: tenantID},
			session.CreateRequest{TargetAge: s.age, SuccessURL: &back})
		if fault.CodeOf(err) == fault.TooMany {
			return nil
		}
		if err != nil {
			return err
		}
		link := created.VerificationURL[strings.LastIndexByte(created.VerificationURL, '/')+1:]
		sess, err := gateway.Sessions.ByLink(ctx, link)
		if err != nil {
			return err
		}
		gateway.Sessions.Opened(ctx, sess)
		if s.result == "" {
			continue
		}
		forced := session.CheckResult{Result: s.result, Source: session.SourceForced}
		after, err := gateway.Sessions.Resolve(ctx, sess, forced)
		if err == nil && after.DocumentOpen() && !after.Status.Terminal() {
			_, err = gateway.Sessions.Resolve(ctx, after, forced) // skips the document check
		}
		if err != nil {
			return err
		}
	}
	return nil
}
