package evidence_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/gatewaytest"
	"agegate/internal/lab/measured"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// about returns an installation with measurements of invented pictures.
func about(t *testing.T) evidence.Installation {
	t.Helper()
	c := measured.Collection{Name: "Utopians | <b>", MadeAt: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC), Pictures: 400,
		Training: measured.OtherPart}
	for _, cell := range []measured.Cell{
		{From: 13, To: 17, Count: 200}, {From: 25, To: 35, Count: 100}, {From: 25, To: 35, Sex: "female", Count: 60},
		{From: 16, To: 19, Count: 40}, {From: 25, To: 35, Sex: "female", Group: "Blue", Count: 10},
	} {
		for cutoff := evidence.LowestCutoff; cutoff <= evidence.HighestCutoff; cutoff++ {
			n := 0
			if cutoff <= 25 {
				n = cell.Count * (26 - cutoff) / 40
			}
			cell.Passing = append(cell.Passing, n)
		}
		cell.MAE, cell.Bias = measured.Bounds{Value: 3, Low: 2.5, High: 3.5}, measured.Bounds{Value: .5, Low: -.01, High: 1}
		c.Cells = append(c.Cells, cell)
	}
	made := measured.Accuracy(measured.Fairness{Format: 1, Estimator: "e1", Collections: []measured.Collection{c}})
	accuracy, err := evidence.ParseAccuracy(made, "e1")
	if err != nil {
		t.Fatal(err)
	}
	return evidence.Installation{
		Release: "1.2.3", Configuration: "c0ffee", BaseURL: "https://gate.example",
		Margin: tenant.MarginRule{Usual: 7, Least: 7}, SessionTTL: 30 * time.Minute,
		Retention: 90 * 24 * time.Hour, DocumentWays: []session.Way{session.WayPhoto},
		Models:    []evidence.Model{{Role: "age", SHA256: strings.Repeat("ab", 32)}},
		Estimator: "e1", Calibration: "k1", Research: true,
		Accuracy: accuracy, Targets: []byte("target_age\n16\n"),
	}
}

// service returns a service over a gateway's database.
func service(t *testing.T, g *gatewaytest.Gateway) *evidence.Service {
	t.Helper()
	key, err := evidence.NewKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return evidence.NewService(g.App.Store, g.App.Insight, key, about(t), g.Clock.Now)
}

// unpack returns the files of a pack.
func unpack(t *testing.T, pack []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(pack), int64(len(pack)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range r.File {
		part, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(data)
	}
	return files
}

// checked creates live sessions of a tenant that end with a result.
func checked(
	t *testing.T, g *gatewaytest.Gateway, shop tenant.Credentials, n int, result session.CheckResult,
) uuid.UUID {
	t.Helper()
	var last uuid.UUID
	for range n {
		created, err := g.App.Sessions.Create(t.Context(), tenant.Caller{TenantID: shop.Tenant.ID, Livemode: true},
			session.CreateRequest{TargetAge: 18})
		if err != nil {
			t.Fatal(err)
		}
		_, token, _ := strings.Cut(created.VerificationURL, "/v/")
		s, err := g.App.Sessions.ByLink(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.App.Sessions.Resolve(t.Context(), s, result); err != nil {
			t.Fatal(err)
		}
		last = s.ID
	}
	return last
}

// demo returns a tenant with outcomes on one day and a change of its settings by a person.
func demo(t *testing.T, g *gatewaytest.Gateway) (tenant.Credentials, evidence.Request) {
	t.Helper()
	g.Clock.Set(time.Date(2026, 5, 20, 10, 0, 0, 0, time.UTC))
	free := int64(-1)
	shop := g.Shop(t, "", func(s *tenant.Tenant) { s.Name, s.FreeChecks = "Shop | <script>", &free })
	on := true
	if _, err := g.App.Tenants.Update(t.Context(), audit.User(uuid.New(), "Berta Beispiel"), shop.Tenant.ID,
		tenant.Changes{DocumentCheck: &on, WalletPID: &on}); err != nil {
		t.Fatal(err)
	}
	if err := g.App.Store.AppendAct(t.Context(), audit.Act{
		Scope: audit.Instance, At: g.Clock.Now(), Actor: audit.System("start"), Action: audit.GatewayConfigure,
		Detail: audit.Detail{Changes: []audit.Change{{Setting: "age_margin", Old: "5", New: "7"},
			{Setting: "AGEGATE_OIDC_ROLES", New: "ops=operator"}}},
	}); err != nil {
		t.Fatal(err)
	}
	estimate := 41.5
	passed := checked(t, g, shop, 23, session.CheckResult{Result: session.ResultVerified, Source: session.SourceCamera,
		Estimate: &estimate})
	checked(t, g, shop, 3, session.CheckResult{Result: session.ResultSpoof, Source: session.SourceCamera})
	return shop, evidence.Request{
		TenantID: shop.Tenant.ID, From: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC),
		To:       time.Date(2026, 5, 21, 0, 0, 0, 0, time.UTC),
		Language: "en", TargetAge: 18, Receipts: []uuid.UUID{passed},
	}
}

// row returns the first row of a CSV file that contains all of these cells.
func row(t *testing.T, text string, cells ...string) []string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !slices.ContainsFunc(cells, func(c string) bool { return !slices.Contains(r, c) }) {
			return r
		}
	}
	t.Errorf("no row has %q in\n%s", cells, text)
	return nil
}

// TestPack: every file agrees with its sources and contains nothing about a person.
func TestPack(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		_, request := demo(t, g)
		made := service(t, g)
		for _, language := range evidence.Languages {
			request.Language = language
			pack, err := made.Pack(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			key := made.Key()
			verified, err := evidence.Verify(pack, &key)
			if err != nil || verified.Receipts != 1 {
				t.Fatalf("%+v, %v", verified, err)
			}
			files := unpack(t, pack)
			t.Log(slices.Sorted(maps.Keys(files)))
			if !strings.Contains(files["dpia.md"], "(PID)") {
				t.Errorf("the assessment does not name identification data:\n%s", files["dpia.md"])
			}
			row(t, files["outcomes.csv"], "2026-05-20", "23", "under 20")
			row(t, files["outcomes.csv"], "2026-05-19", "under 20")
			row(t, files["accuracy.csv"], "Utopians | <b>", "400", "2026-03-04", measured.OtherPart, "e1", "13", "17", "200", "3.00", "2.50", "-0.01")
			row(t, files["targets.csv"], "16")
			row(t, files["matching.csv"], "All-Age-Faces", "adults", "a picture", "0.48")
			row(t, files["matching.csv"], "UTKFace, other parts", "Asian, male, 18 to 26", "a picture", "3.51")
			row(t, files["changes.csv"], "tenant", "user", "tenant.update", "document_check")
			row(t, files["changes.csv"], "instance", "system", "gateway.configure", "age_margin", "5", "7")
			row(t, files["pad.csv"], "own head between pictures of another", "APCER", "150", "3", "2.0", "0.4", "5.7")
			row(t, files["injection.csv"], "injected stream of an obeying puppet", "30", "100.0")
			text := strings.Join(slices.Collect(maps.Values(files)), "\n")
			for _, never := range []string{"Berta", "41.5", "<script>", "Utopians <b>", "ops="} {
				if strings.Contains(text, never) {
					t.Errorf("%s: the pack holds %q", language, never)
				}
			}
			for _, holds := range []string{"2.5 (1.1–5.7)", "3.00 (2.50–3.50)", "female | 25–35 | 60 | 1.7 (0.3–8.9)",
				map[string]string{"en": "| other part of the same collection | Blue female | 25–35 | 10 (too few to say) | 0.0 (",
					"de": "| anderer Teil derselben Sammlung | Blue female | 25–35 | 10 (zu wenige) | 0.0 ("}[language],
				"| 25–35 | 100 | 2.0 (", "still picture as a stream", "All-Age-Faces | adults | 0.48 (0.40–0.56)",
				verified.Manifest.AuditHead.Hash.String(), "0.0 (", "1.2.3", "photo",
				map[string]string{"en": "on pictures that may be used for research only", "de": "nur für Forschung"}[language]} {
				if !strings.Contains(files["practice-statement.md"]+files["ofcom-record.md"], holds) {
					t.Errorf("%s: the statements do not hold %q", language, holds)
				}
			}
		}
	})
}

// TestReceipt: a receipt agrees with the session, verifies with the published key alone, and fails after any change.
func TestReceipt(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, request := demo(t, g)
		made := service(t, g)
		id := request.Receipts[0]
		receipt, err := made.Receipt(t.Context(), shop.Tenant.ID, id)
		if err != nil {
			t.Fatal(err)
		}
		got, err := evidence.VerifyReceipt(receipt, made.Key())
		stored, storeErr := g.App.Store.SessionByID(t.Context(), shop.Tenant.ID, id)
		if storeErr != nil {
			t.Fatal(storeErr)
		}
		want := evidence.Receipt{
			Issuer: "https://gate.example", IssuedAt: got.IssuedAt, SessionID: id.String(), TargetAge: 18,
			Status: session.StatusPassed, Way: "camera", At: stored.CompletedAt.UTC(), Livemode: true,
		}
		if err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		forged := []byte(receipt)
		for i := range forged {
			for _, by := range []byte{1, 2, 4, 0x20} {
				forged[i] ^= by
				if _, err := evidence.VerifyReceipt(string(forged), made.Key()); err == nil {
					t.Errorf("character %d can be changed by %d", i, by)
				}
				forged[i] ^= by
			}
		}
		open, err := g.App.Sessions.Create(t.Context(), tenant.Caller{TenantID: shop.Tenant.ID, Livemode: true},
			session.CreateRequest{TargetAge: 18})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := made.Receipt(t.Context(), shop.Tenant.ID, open.SessionID); !errors.Is(err, evidence.ErrNoResult) {
			t.Errorf("an open session: %v", err)
		}
		stranger := g.Shop(t, "", nil)
		if _, err := made.Receipt(t.Context(), stranger.Tenant.ID, id); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("another tenant's session: %v", err)
		}
	})
}

// TestRequest: requests that cannot be fulfilled are refused.
func TestRequest(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	_, good := demo(t, g)
	made := service(t, g)
	for name, tt := range map[string]struct {
		edit func(*evidence.Request)
		want error
	}{
		"backwards":       {func(r *evidence.Request) { r.To = r.From }, evidence.ErrPeriod},
		"in the future":   {func(r *evidence.Request) { r.To = r.To.AddDate(0, 0, 1) }, evidence.ErrPeriod},
		"too long":        {func(r *evidence.Request) { r.From = r.From.AddDate(-2, 0, 0) }, evidence.ErrPeriod},
		"no language":     {func(r *evidence.Request) { r.Language = "../en" }, evidence.ErrLanguage},
		"a target":        {func(r *evidence.Request) { r.TargetAge = 12 }, evidence.ErrTarget},
		"many receipts":   {func(r *evidence.Request) { r.Receipts = make([]uuid.UUID, 101) }, evidence.ErrReceipts},
		"unknown tenant":  {func(r *evidence.Request) { r.TenantID = uuid.New() }, nil},
		"unknown session": {func(r *evidence.Request) { r.Receipts = []uuid.UUID{uuid.New()} }, nil},
	} {
		request := good
		tt.edit(&request)
		_, err := made.Pack(t.Context(), request)
		if tt.want != nil && !errors.Is(err, tt.want) || tt.want == nil && fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBrokenLog: no pack is made from an audit log that was changed.
func TestBrokenLog(t *testing.T) {
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		shop, request := demo(t, g)
		g.Exec(t, "UPDATE audit_entries SET actor_name = 'nobody' WHERE scope = '"+shop.Tenant.ID.String()+"' AND seq = 2")
		_, err := service(t, g).Pack(t.Context(), request)
		if broken := (*audit.BrokenError)(nil); !errors.As(err, &broken) {
			t.Errorf("%v", err)
		}
	})
}

// TestOneFileNamedManyTimes: an archive whose entries share their bytes is refused
// before it takes more memory than itself.
func TestOneFileNamedManyTimes(t *testing.T) {
	const size, entries = 1 << 20, 1500
	var pack bytes.Buffer
	w := zip.NewWriter(&pack)
	data := make([]byte, size)
	part, err := w.CreateRaw(&zip.FileHeader{
		Name: "a", Method: zip.Store, CRC32: crc32.ChecksumIEEE(data), CompressedSize64: size, UncompressedSize64: size,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// The directory's only entry is repeated; see section 4.3 of APPNOTE.TXT.
	const tail = 22
	whole := pack.Bytes()
	start := bytes.Index(whole, []byte("PK\x01\x02"))
	entry, end := whole[start:len(whole)-tail], slices.Clone(whole[len(whole)-tail:])
	binary.LittleEndian.PutUint16(end[8:], entries)
	binary.LittleEndian.PutUint16(end[10:], entries)
	binary.LittleEndian.PutUint32(end[12:], uint32(entries*len(entry)))
	forged := slices.Concat(whole[:start], bytes.Repeat(entry, entries), end)

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := evidence.Verify(forged, nil); err == nil {
		t.Error("accepted")
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8*uint64(len(forged)) {
		t.Errorf("%d bytes were allocated for a pack of %d", took, len(forged))
	}
}
