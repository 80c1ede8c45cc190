package gatewaytest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"
)

const (
	createPath = "/api/v1/sessions/create"
	malformed  = `{"detail":"Missing or malformed API key"}`
	invalidKey = `{"detail":"Invalid API key"}`
	disabled   = `{"detail":"Tenant disabled"}`
	notFound   = `{"detail":"Session not found"}`
	someID     = "0190c0de-0000-7000-8000-000000000001"
	canary     = "cAnArY7"
)

func violation(kind string, loc ...string) string {
	return fmt.Sprintf(`{"type":%q,"loc":["%s"],"msg":"validation failed"}`, kind, strings.Join(loc, `","`))
}

func violations(list ...string) string {
	return `{"detail":[` + strings.Join(list, ",") + `]}`
}

func TestAuthentication(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "https://shop.example/hook", nil)
		off := g.Shop(t, "", nil)
		if err := g.App.Tenants.SetDisabled(t.Context(), audit.System("test"), off.Tenant.ID, true, ""); err != nil {
			t.Fatal(err)
		}
		revoked, plain, err := g.App.Tenants.CreateKey(t.Context(), audit.System("test"), c.Tenant.ID, false, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := g.App.Tenants.RevokeKey(t.Context(), audit.System("test"), c.Tenant.ID, revoked.ID); err != nil {
			t.Fatal(err)
		}
		good := c.Test.APIKey
		wrongSum := good[:len(good)-1] + string('0'+(good[len(good)-1]+1)%10)
		operations := []Row{
			{Path: createPath, Body: `{"target_age":18}`},
			{Path: "/api/v1/sessions/" + someID + "/status"},
			{Path: "/api/v1/sessions/" + someID + "/detected-age"},
		}
		refusals := []struct{ name, key, body string }{
			{"no key", "", malformed},
			{"no prefix", canary, malformed},
			{"prefix of another case", "SVC_TEST_" + canary, malformed},
			{"good one twice", good + "\n" + good, malformed},
			{"something before the prefix", "Bearer " + good, malformed},
			{"prefix alone", "svc_test_", invalidKey},
			{"wrong checksum", wrongSum, invalidKey},
			{"unknown", "svc_test_0123456789ABCDEFGHIJKLMNOPQRSTUV2nuRgb", invalidKey},
			{"revoked", plain, invalidKey},
			{"other mode", strings.Replace(good, "svc_test_", "svc_live_", 1), invalidKey},
		}
		for _, op := range operations {
			for _, refusal := range refusals {
				op.Name, op.Key, op.Status, op.JSON = refusal.name+" "+op.Path, refusal.key, http.StatusUnauthorized, refusal.body
				op.Not = []string{canary}
				g.Do(t, op)
			}
			op.Name, op.Key, op.Status, op.JSON = "disabled "+op.Path, off.Live.APIKey, http.StatusForbidden, disabled
			g.Do(t, op)
		}
	})
}

func TestRevocationAndDisablingTakeEffectWithinTwoSeconds(t *testing.T) {
	secret := "AGEGATE_SECRET_KEY=" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	Each(t, func(t *testing.T, g *Gateway) {
		operator := g
		if strings.HasPrefix(g.DB, "postgres:") {
			operator = Start(t, g.DB, secret) // starts another replica
		}
		c := g.Shop(t, "", nil)
		s := g.Create(t, c.Live.APIKey, 18)
		row := Row{Name: "before", Path: "/api/v1/sessions/" + s.SessionID + "/status", Key: c.Test.APIKey, Status: 200}
		g.Do(t, row)
		keys, err := operator.App.Tenants.Keys(t.Context(), c.Tenant.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if !k.Livemode {
				err = operator.App.Tenants.RevokeKey(t.Context(), audit.System("test"), c.Tenant.ID, k.ID)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		g.Clock.Advance(2 * time.Second)
		row.Name, row.Status, row.JSON = "revoked", 401, invalidKey
		g.Do(t, row)
		row.Name, row.Key, row.Status, row.JSON = "other key", c.Live.APIKey, 200, ""
		g.Do(t, row)
		if err := operator.App.Tenants.SetDisabled(t.Context(), audit.System("test"), c.Tenant.ID, true, ""); err != nil {
			t.Fatal(err)
		}
		g.Clock.Advance(2 * time.Second)
		row.Name, row.Status, row.JSON = "disabled", 403, disabled
		g.Do(t, row)
		if err := operator.App.Tenants.SetDisabled(t.Context(), audit.System("test"), c.Tenant.ID, false, ""); err != nil {
			t.Fatal(err)
		}
		row.Name, row.Status, row.JSON = "enabled", 200, ""
		g.Do(t, row)
	}, secret)
}

func TestOrderOfChecks(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		c := g.Shop(t, "", nil)
		off := g.Shop(t, "", nil)
		if err := g.App.Tenants.SetDisabled(t.Context(), audit.System("test"), off.Tenant.ID, true, ""); err != nil {
			t.Fatal(err)
		}
		uuidParsing := violations(violation("uuid_parsing", "path", "session_id"))
		large := `{"target_age":18,"success_url":"` + strings.Repeat("a", 65<<10) + `"}`
		for _, row := range []Row{
			{Name: "413 before 401", Path: createPath, Body: large, Status: 413, JSON: `{"detail":"Request body too large"}`},
			{Name: "401 before 422", Path: createPath, Body: `{}`, Status: 401, JSON: malformed},
			{Name: "403 before 422", Path: createPath, Key: off.Test.APIKey, Body: `{}`, Status: 403, JSON: disabled},
			{Name: "malformed UUID without a key", Path: "/api/v1/sessions/" + canary + "/status", Status: 401, JSON: malformed},
			{Name: "malformed UUID, disabled", Path: "/api/v1/sessions/" + canary + "/status", Key: off.Test.APIKey, Status: 403,
				JSON: disabled},
			{Name: "malformed UUID with a key", Path: "/api/v1/sessions/" + canary + "/status", Key: c.Test.APIKey, Status: 422,
				JSON: uuidParsing, Not: []string{canary}},
			{Name: "malformed UUID, estimate", Path: "/api/v1/sessions/" + canary + "/detected-age", Key: c.Test.APIKey,
				Status: 422, JSON: uuidParsing, Not: []string{canary}},
			{Name: "URN form", Path: "/api/v1/sessions/urn:uuid:" + someID + "/status", Key: c.Test.APIKey, Status: 422,
				JSON: uuidParsing},
			{Name: "32 digits", Path: "/api/v1/sessions/" + strings.ReplaceAll(someID, "-", "") + "/status", Key: c.Test.APIKey,
				Status: 422, JSON: uuidParsing},
			{Name: "missing session", Path: "/api/v1/sessions/" + someID + "/status", Key: c.Test.APIKey, Status: 404,
				JSON: notFound},
			{Name: "upper case UUID is read", Path: "/api/v1/sessions/" + strings.ToUpper(someID) + "/status",
				Key: c.Test.APIKey, Status: 404, JSON: notFound},
			{Name: "undocumented path", Path: "/api/v1/" + canary, Status: 404, JSON: `{"detail":"Not Found"}`,
				Not: []string{canary}},
			{Name: "wrong method", Method: "DELETE", Path: createPath, Status: 405, JSON: `{"detail":"Method Not Allowed"}`},
		} {
			g.Do(t, row)
		}
	})
}

func TestCreateValidation(t *testing.T) {
	Each(t, func(t *testing.T, g *Gateway) {
		full := g.Shop(t, "https://hooks.example:8443/hook", nil)
		bare := g.Shop(t, "", func(shop *tenant.Tenant) { shop.SuccessURL, shop.CancelURL = "", "" })
		body := func(members string) string { return `{"target_age":18,` + members + `}` }
		ok := `{"session_id":"<uuid>","verification_url":"<url>","expires_at":"<time>"}`
		one := func(kind string, loc ...string) string { return violations(violation(kind, loc...)) }
		for _, row := range []Row{
			{Name: "least age", Body: `{"target_age":13}`, Status: 201, JSON: ok},
			{Name: "greatest age", Body: `{"target_age":99}`, Status: 201, JSON: ok},
			{Name: "integral float", Body: `{"target_age":18.0}`, Status: 201, JSON: ok},
			{Name: "below", Body: `{"target_age":12}`, Status: 422, JSON: one("greater_than_equal", "body", "target_age")},
			{Name: "above", Body: `{"target_age":100}`, Status: 422, JSON: one("less_than_equal", "body", "target_age")},
			{Name: "fraction", Body: `{"target_age":18.5}`, Status: 422, JSON: one("int_from_float", "body", "target_age")},
			{Name: "string", Body: `{"target_age":"18"}`, Status: 422, JSON: one("int_type", "body", "target_age")},
			{Name: "null", Body: `{"target_age":null}`, Status: 422, JSON: one("int_type", "body", "target_age")},
			{Name: "missing", Body: `{}`, Status: 422, JSON: one("missing", "body", "target_age")},
			{Name: "not an object", Body: `[]`, Status: 422, JSON: one("model_attributes_type", "body")},
			{Name: "not JSON", Body: `{"target_age":` + canary, Status: 422, JSON: one("json_invalid", "body"),
				Not: []string{canary}},
			{Name: "duplicate key", Body: `{"target_age":18,"target_age":19}`, Status: 422, JSON: one("json_invalid", "body")},
			{Name: "removed field", Body: body(`"webhook_url":"https://` + canary + `.example"`), Status: 422,
				JSON: one("extra_forbidden", "body", "webhook_url"), Not: []string{canary}},
			{Name: "mistyped field", Body: body(`"sucess_url":"https://shop.example/"`), Status: 422,
				JSON: one("extra_forbidden", "body", "sucess_url")},
			{Name: "all at once", Body: `{"target_age":"x","success_url":5,"webhook_url":1}`, Status: 422,
				JSON: violations(violation("string_type", "body", "success_url"), violation("int_type", "body", "target_age"),
					violation("extra_forbidden", "body", "webhook_url"))},
			{Name: "all at once, with what the domain refuses", Body: `{"target_age":12,"success_url":"https://` + canary +
				`.example/","cancel_url":7,"webhook_url":1}`, Status: 422, Not: []string{canary},
				JSON: violations(violation("string_type", "body", "cancel_url"),
					violation("greater_than_equal", "body", "target_age"), violation("value_error", "body", "success_url"),
					violation("extra_forbidden", "body", "webhook_url"))},
			{Name: "one violation a member", Body: `{"target_age":12,"success_url":"ftp://shop.example/` +
				strings.Repeat("a", 2048) + `"}`, Status: 422,
				JSON: violations(violation("url_too_long", "body", "success_url"),
					violation("greater_than_equal", "body", "target_age"))},

			{Name: "own path on a registered host", Body: body(`"success_url":"https://shop.example/other?x=1#top"`),
				Status: 201, JSON: ok},
			{Name: "host in upper case", Body: body(`"success_url":"https://SHOP.example/"`), Status: 201, JSON: ok},
			{Name: "default port spelled out", Body: body(`"cancel_url":"https://shop.example:443/"`), Status: 201, JSON: ok},
			{Name: "host of the webhook URL", Body: body(`"cancel_url":"https://hooks.example:8443/x"`), Status: 201, JSON: ok},
			{Name: "another port", Body: body(`"cancel_url":"https://shop.example:444/"`), Status: 422,
				JSON: one("value_error", "body", "cancel_url")},
			{Name: "another host", Body: body(`"success_url":"https://` + canary + `.example/"`), Status: 422,
				JSON: one("value_error", "body", "success_url"), Not: []string{canary}},
			{Name: "suffix of the host", Body: body(`"success_url":"https://shop.example.evil.example/"`), Status: 422,
				JSON: one("value_error", "body", "success_url")},
			{Name: "user information", Body: body(`"success_url":"https://shop.example@evil.example/"`), Status: 422,
				JSON: one("value_error", "body", "success_url")},
			{Name: "Unicode in the host", Body: body(`"success_url":"https://\uff53hop.example/"`), Status: 422,
				JSON: one("url_parsing", "body", "success_url")},
			{Name: "Unicode in the host, escaped", Body: body(`"success_url":"https://%EF%BD%93hop.example/"`), Status: 422,
				JSON: one("url_parsing", "body", "success_url")},
			{Name: "trailing dot", Body: body(`"success_url":"https://shop.example./"`), Status: 422,
				JSON: one("url_parsing", "body", "success_url")},
			{Name: "beside another fault", Body: `{"target_age":12,"success_url":"https://\uff53hop.example/"}`, Status: 422,
				JSON: violations(violation("greater_than_equal", "body", "target_age"),
					violation("url_parsing", "body", "success_url"))},
			{Name: "relative", Body: body(`"success_url":"/ok"`), Status: 422, JSON: one("url_parsing", "body", "success_url")},
			{Name: "scheme", Body: body(`"success_url":"ftp://shop.example/"`), Status: 422,
				JSON: one("url_scheme", "body", "success_url")},
			{Name: "script without a host", Body: body(`"success_url":"javascript:alert(1)"`), Status: 422,
				JSON: one("url_scheme", "body", "success_url")},
			{Name: "script", Body: body(`"success_url":"javascript://shop.example/%0aalert(1)"`), Status: 422,
				JSON: one("url_scheme", "body", "success_url")},
			{Name: "backslash", Body: body(`"success_url":"https://evil.example\\@shop.example/"`), Status: 422,
				JSON: one("url_parsing", "body", "success_url")},
			{Name: "longest, in characters", Body: body(`"success_url":"https://shop.example/` + strings.Repeat("é", 2048-21) +
				`"`), Status: 201, JSON: ok},
			{Name: "too long", Body: body(`"success_url":"https://shop.example/` + strings.Repeat("é", 2049-21) + `"`),
				Status: 422, JSON: one("url_too_long", "body", "success_url")},
		} {
			row.Path, row.Key = createPath, full.Test.APIKey
			g.Do(t, row)
		}
		g.Do(t, Row{Name: "nothing registered", Path: createPath, Key: bare.Test.APIKey, Body: `{"target_age":18}`,
			Status: 422,
			JSON:   violations(violation("missing", "body", "success_url"), violation("missing", "body", "cancel_url"))})
		g.Do(t, Row{Name: "nothing registered, and too young", Path: createPath, Key: bare.Test.APIKey,
			Body: `{"target_age":12}`, Status: 422,
			JSON: violations(violation("greater_than_equal", "body", "target_age"), violation("missing", "body", "success_url"),
				violation("missing", "body", "cancel_url"))})
		g.Do(t, Row{Name: "unregistered, live key", Path: createPath, Key: full.Live.APIKey,
			Body: body(`"success_url":"https://other.example/"`), Status: 422,
			JSON: violations(violation("value_error", "body", "success_url"))})
		if strings.Contains(g.Log.String(), canary) {
			t.Error("the log contains input")
		}
	})
}
