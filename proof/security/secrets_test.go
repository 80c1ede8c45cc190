package security

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/internal/lab/verify"
	"agegate/internal/rules/tenant"
	"agegate/proof/table"
)

const urlCanary = "zqurlcanary7x"

// After a whole sequence of sessions, the log and the database contain no secret
// that opens, signs or proves something, in any usual notation.
func TestSecretsAreNowhere(t *testing.T) {
	table.Beside(t)
	onEach(t, "Secrets in the log and the database", func(t *testing.T, g *gatewaytest.Gateway, r *table.Row) {
		receiver := gatewaytest.NewReceiver(t)
		shop := g.Shop(t, receiver.URL, consenting)
		secrets := credentials(t, shop)
		for i, key := range []string{shop.Test.APIKey, shop.Test.APIKey, shop.Live.APIKey} {
			maps.Copy(secrets, walk(t, g, key, fmt.Sprint(i)))
		}
		receiver.Wait(t, 2)
		r.Didf("%d secrets, each in 5 notations", len(secrets))
		columns, file := dump(t, g)
		if len(columns) < 60 {
			t.Errorf("only %d columns were found", len(columns))
		}
		var logged, stored, inFile []string
		for name, secret := range secrets {
			for _, form := range notations(secret) {
				if strings.Contains(g.Log.String(), form) {
					logged = append(logged, name)
				}
				if bytes.Contains(file, []byte(form)) {
					inFile = append(inFile, name)
				}
				for column, values := range columns {
					if strings.Contains(values, form) {
						stored = append(stored, name+" in "+column)
					}
				}
			}
		}
		var urls []string
		for column, values := range columns {
			if strings.Contains(values, urlCanary) && column != "sessions.success_url" && column != "sessions.cancel_url" {
				urls = append(urls, column)
			}
		}
		if !strings.Contains(columns["sessions.success_url"], urlCanary) {
			t.Error("the dump misses what is stored on purpose")
		}
		r.None("secrets in the log, at level debug", logged)
		r.None(fmt.Sprintf("secrets in %d columns of all tables", len(columns)), stored)
		r.None("secrets in the bytes of the database's files", inFile)
		r.None("callback URLs in the log", linesWith(g.Log.String(), urlCanary, "shop.example"))
		r.None("session callback URLs in further columns", urls)
	})
}

func credentials(t *testing.T, shop tenant.Credentials) map[string]string {
	t.Helper()
	secrets := map[string]string{
		"test API key": shop.Test.APIKey, "live API key": shop.Live.APIKey,
		"test webhook secret": shop.Test.WebhookSecret, "live webhook secret": shop.Live.WebhookSecret,
		"test redirect secret": shop.Test.RedirectSecret, "live redirect secret": shop.Live.RedirectSecret,
	}
	for _, name := range slices.Collect(maps.Keys(secrets)) {
		if strings.HasSuffix(name, "secret") {
			raw, err := verify.Secret(secrets[name])
			if err != nil {
				t.Fatal(err)
			}
			secrets[name+", decoded"] = string(raw)
		}
	}
	return secrets
}

// walk creates a session, begins it in a browser, consents, hands it over to a
// phone and, if it is a test session, forces a pass. It returns every secret that
// the gateway issued in the process.
func walk(t *testing.T, g *gatewaytest.Gateway, key, n string) map[string]string {
	t.Helper()
	idempotency := "zqidempotency7x-" + n
	body := fmt.Sprintf(`{"target_age":18,"success_url":"https://shop.example/ok?x=%s","cancel_url":"https://shop.example/no?x=%s"}`, urlCanary, urlCanary)
	made := g.Do(t, gatewaytest.Row{Name: "create", Path: "/api/v1/sessions/create", Key: key, Body: body,
		Status: http.StatusCreated,
		Header: map[string]string{"Idempotency-Key": idempotency}})
	_, after, _ := strings.Cut(made, "/v/")
	link := after[:43]
	page := g.URL + "/v/" + link
	desktop, phone := gatewaytest.Browser(), gatewaytest.Browser()
	get(t, desktop, page)
	post(t, desktop, page+"/start")
	post(t, desktop, page+"/consent?share=yes")
	post(t, desktop, page+"/handover")
	found := phoneAddress.FindStringSubmatch(get(t, desktop, page+"/handover"))
	if found == nil {
		t.Fatal("no link for a phone")
	}
	get(t, phone, g.URL+found[0])
	post(t, phone, g.URL+found[0]+"/start")
	secrets := map[string]string{"link token " + n: link, "phone token " + n: found[1], "idempotency key " +
		n: idempotency}
	for who, browser := range map[string]*http.Client{"desktop": desktop, "phone": phone} {
		for _, c := range browser.Jar.Cookies(mustURL(t, page)) {
			secrets[who+" cookie "+c.Name] = c.Value
		}
	}
	res, err := desktop.Get(page + "?force=verified")
	read(t, res, err)
	if token := mustURL(t, res.Header.Get("Location")).Query().Get("token"); token != "" {
		secrets["redirect token "+n] = token
	}
	if len(secrets) < 5 {
		t.Fatalf("only %v", slices.Collect(maps.Keys(secrets)))
	}
	return secrets
}

// notations returns the forms in which a secret could be written by accident.
func notations(secret string) []string {
	raw := []byte(secret)
	return []string{
		secret, hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)),
		base64.RawStdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw),
	}
}

// dump returns all values of each column of every table, by table.column, and on
// SQLite the bytes of the files, which may still contain deleted rows.
func dump(t *testing.T, g *gatewaytest.Gateway) (columns map[string]string, file []byte) {
	t.Helper()
	driver, dsn, tables := "pgx", g.DB, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
	if path, ok := strings.CutPrefix(g.DB, "sqlite:"); ok {
		driver, dsn, tables = "sqlite", "file:"+path+"?mode=ro", "SELECT name FROM sqlite_master WHERE type = 'table'"
		for _, name := range []string{path, path + "-wal"} {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			file = append(file, data...)
		}
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	columns = map[string]string{}
	for _, table := range rows(t, db, tables) {
		for _, value := range rows(t, db, "SELECT * FROM "+table.value) {
			columns[table.value+"."+value.column] += value.value + "\n"
		}
	}
	return columns, file
}

type field struct{ column, value string }

// rows returns every field of a query's result as text; byte fields also in hex.
func rows(t *testing.T, db *sql.DB, query string) (fields []field) {
	t.Helper()
	result, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	names, err := result.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for result.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := result.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			text := fmt.Sprint(v)
			if b, ok := v.([]byte); ok {
				text = string(b) + " " + hex.EncodeToString(b)
			}
			fields = append(fields, field{names[i], text})
		}
	}
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	return fields
}
