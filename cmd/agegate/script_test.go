package main

import (
	"archive/zip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
	"agegate/internal/rules/webhook"
	"agegate/internal/store"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts' files")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"agegate": main})
}

// TestScripts runs testdata/script/*.txtar, each with an empty SQLite database and a secret key in its environment.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			path := filepath.Join(env.WorkDir, "agegate.db")
			env.Setenv("AGEGATE_DATABASE_URL", "sqlite:"+path)
			env.Setenv("AGEGATE_SECRET_KEY", firstKey)
			return os.WriteFile(path, nil, 0o600)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"field": field, "mask": mask, "event": event, "user": addUser, "today": today, "unpack": unpack,
			"publisher":        func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(startPublisher(ts)) },
			"publish":          publish,
			"publish-entities": publishEntities, "publish-vical": publishVICAL,
		},
	})
}

// field NAME FIELD.FIELD sets a variable to a string in the JSON object that the last command printed.
func field(ts *testscript.TestScript, _ bool, args []string) {
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &value))
	for name := range strings.SplitSeq(args[1], ".") {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	text, ok := value.(string)
	if !ok {
		ts.Fatalf("there is no string %s", args[1])
	}
	ts.Setenv(args[0], text)
}

// today NAME sets a variable to the UTC day.
func today(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], now().Format(time.DateOnly))
}

// unpack ZIP NAME FILE writes a file of an archive into a file.
func unpack(ts *testscript.TestScript, _ bool, args []string) {
	r, err := zip.OpenReader(ts.MkAbs(args[0]))
	ts.Check(err)
	defer r.Close()
	data, err := fs.ReadFile(r, args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), data, 0o600))
}

// user EMAIL NAME [operator] stores a user, as the dashboard does.
func addUser(ts *testscript.TestScript, _ bool, args []string) {
	db, err := store.Open(context.Background(), store.Config{URL: ts.Getenv("AGEGATE_DATABASE_URL"), Now: now})
	ts.Check(err)
	defer db.Close()
	id, err := uuid.NewV7()
	ts.Check(err)
	ts.Check(db.UpdateAccounts(context.Background(), func(tx account.Tx) error {
		return tx.InsertUser(account.User{ID: id, Email: args[0], Name: args[1], Operator: len(args) > 2,
			CreatedAt: now()})
	}))
}

// masks replace what differs between runs.
var masks = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "<uuid>"},
	{regexp.MustCompile(`\bcli \S+ +`), "cli <user>  "}, // the name makes the column wider
	{regexp.MustCompile(`\bACTOR +`), "ACTOR  "},
	{regexp.MustCompile(`\bep_[0-9A-Za-z_-]+`), "ep_<id>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`), "<time>"},
	{regexp.MustCompile(`\b(svc_(?:test|live)_)[0-9A-Za-z]{38}\b`), "$1<key>"},
	{regexp.MustCompile(`(svc_(?:test|live)_…)[0-9A-Za-z]{4}`), "$1<end>"},
	{regexp.MustCompile(`\b(whsec_|rdsec_test_|rdsec_live_)[0-9A-Za-z+/]{43}=`), "$1<secret>"},
}

// mask writes what the last command printed to the file masked, with IDs, times, keys and secrets replaced.
func mask(ts *testscript.TestScript, _ bool, _ []string) {
	text := ts.ReadFile("stdout")
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.by)
	}
	ts.Check(os.WriteFile(ts.MkAbs("masked"), []byte(text), 0o600))
}

// answers are a receiver's possible answers to a delivery.
var answers = map[string]struct {
	attempt webhook.Attempt
	outcome webhook.Disposition
}{
	"delivered": {webhook.Attempt{Class: webhook.ClassDelivered, StatusCode: 200},
		webhook.Disposition{Action: webhook.ActionFinish}},
	"failed": {webhook.Attempt{Class: webhook.ClassStatus, StatusCode: 500, Excerpt: []byte("out of \x1b[2J order")},
		webhook.Disposition{Action: webhook.ActionGiveUp}},
	"gone": {webhook.Attempt{Class: webhook.ClassStatus, StatusCode: 410},
		webhook.Disposition{Action: webhook.ActionDisable}},
}

// event TENANT_ID pending|delivered|failed|gone [test] makes a live session of the tenant pass (with "test", a test
// session), and answers its webhook accordingly. It sets EVENT and SESSION. With "open" the session stays open.
func event(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := store.Open(ctx, store.Config{URL: ts.Getenv("AGEGATE_DATABASE_URL"), Now: now})
	ts.Check(err)
	defer db.Close()
	key, err := base64.StdEncoding.DecodeString(firstKey)
	ts.Check(err)
	sealer, err := credential.NewSealer(key, rand.Reader)
	ts.Check(err)
	owner := uuid.MustParse(args[0])
	tenants := tenant.NewService(db, sealer, tenant.CallbackRule{}, rand.Reader, now)
	service := session.NewService(session.Config{
		VerifyURL: "https://v.example", TTL: time.Hour, TokenTTL: time.Minute,
		Limits: billing.Limits{FreeChecksPerMonth: billing.Unlimited, TestDailyCap: billing.Unlimited},
	}, db, tenants, sealer, rand.Reader, now, func() {})
	created, err := service.Create(ctx, tenant.Caller{TenantID: owner, Livemode: len(args) < 3},
		session.CreateRequest{TargetAge: 18})
	ts.Check(err)
	s, err := service.ByLink(ctx, strings.TrimPrefix(created.VerificationURL, "https://v.example/v/"))
	ts.Check(err)
	ts.Setenv("SESSION", s.ID.String())
	if args[1] == "open" {
		return
	}
	_, err = service.Resolve(ctx, s, session.CheckResult{Result: session.ResultVerified, Source: session.SourceCamera})
	ts.Check(err)
	records, err := db.Events(ctx, webhook.Filter{Scope: webhook.OfTenant(owner), Session: s.ID})
	ts.Check(err)
	ts.Setenv("EVENT", records[0].ID)
	answer, given := answers[args[1]]
	if !given {
		return
	}
	deliveries, err := db.ClaimDeliveries(ctx, []webhook.Claim{{TenantID: owner, Limit: 1}}, time.Minute)
	ts.Check(err)
	if len(deliveries) != 1 {
		ts.Fatalf("%d deliveries are due", len(deliveries))
	}
	attempt := answer.attempt
	attempt.Number = 1
	attempt.At = now()
	attempt.Latency = 12 * time.Millisecond
	ts.Check(db.FinishDelivery(ctx, deliveries[0], attempt, answer.outcome))
}
