package app

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agegate/internal/pages/page"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"rsc.io/qr"
)

// publicWork lists what visitors, shoppers, wallets and staff can have done that costs more
// than a request does otherwise: the function that does it, the dear call in it, and the
// call before it by which the work takes a turn and ends with the context of its request.
// Where rows are read and written one batch at a time, the turns are those of the database.
//
// Not listed is what costs less than the request around it, some ten microseconds: the signature of a request to a
// wallet, of a redirect and a delivery, codes of authenticators, passkeys, and unpacking our own files for clients
// without gzip. The search of the documentation runs in the browser.
var publicWork = []struct{ what, function, call, turn string }{
	{"passwords", "backoffice/account/password.go derive", "h.key(", "h.turns.Take(ctx"},
	{"an identity provider's answers", "backoffice/account/oidc/oidc.go begin", "oidc.ClientContext(ctx",
		"queue.Take(ctx"},
	{"logos", "rules/tenant/settings.go DecodeLogo", "brand.Logo(", "s.logos.Take(ctx"},
	{"logos of settings", "rules/tenant/settings.go checked", "brand.Logo(", "s.logos.Take(ctx"},
	{"faces", "check/age/capture.go add", "analyzer.Follow(ctx", "c.options.Turn(ctx"},
	{"documents", "check/document/photo/check.go read", "vision.DecodeFrame(", "c.options.DocumentTurn(ctx"},
	{"answers of wallets", "check/document/present.go verify", "verifier.Verify(ctx", "w.turns.Take(ctx"},
	{"QR codes", "pages/page/qrcode.go QRCode", "qr.Encode(", "drawing.Take(ctx"},
	{"compression", "pages/page/compress.go pack", "compressor.writer.Write(", "ctx.Err()"},
	{"files for download", "pages/dashboard/desk/download.go Download", "fill(ctx", "r.BeginDownload()"},
	{"lists of sessions as CSV", "pages/dashboard/sessions_export.go exportSessions", "decidedBy(", "Insight.Export(ctx"},
	{"ledgers as CSV", "pages/dashboard/billing.go downloadLedger", "ledgerLine(", "p.cfg.Billing.EntriesBetween(limited"},
}

// TestPublicWorkTakesTurns walks the list, and finds no function beside it that makes one of the dear calls.
func TestPublicWorkTakesTurns(t *testing.T) {
	bodies := functions(t, "..")
	for _, w := range publicWork {
		body := bodies[w.function]
		at, turn := strings.Index(body, w.call), strings.Index(body, w.turn)
		if at < 0 || turn < 0 || turn > at {
			t.Errorf("%s: %s is not after %s in %s", w.what, w.call, w.turn, w.function)
		}
	}
	for _, dear := range []string{"argon2.IDKey(", "brand.Logo(", ".analyzer.Follow(", "vision.DecodeFrame(",
		"vision.DecodePicture(", "qr.Encode(", "verifier.Verify(ctx", "gzip.NewWriter(", ".DecodeAll("} {
		for name, body := range bodies {
			if strings.Contains(body, dear) && !listed(name) {
				t.Errorf("%s calls %s, and is not in publicWork", name, dear)
			}
		}
	}
}

func listed(function string) bool {
	for _, w := range publicWork {
		if w.function == function {
			return true
		}
	}
	return false
}

// functions returns the source of every function of the product, by its file and name.
func functions(t *testing.T, root string) map[string]string {
	t.Helper()
	bodies := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		room, _, _ := strings.Cut(strings.TrimPrefix(path, "../"), "/")
		if err != nil {
			return err
		}
		if entry.IsDir() && (room == "tools" || room == "lab" || strings.HasSuffix(path, "test")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				from, to := files.Position(f.Pos()).Offset, files.Position(f.End()).Offset
				bodies[strings.TrimPrefix(path, "../")+" "+f.Name.Name] += string(source[from:to])
			}
		}
		return nil
	})
	if err != nil || len(bodies) < 1000 {
		t.Fatalf("%d functions, %v", len(bodies), err)
	}
	return bodies
}

// TestPublicWorkEndsWithItsRequest: work whose request has ended is not begun.
func TestPublicWorkEndsWithItsRequest(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tenants := tenant.NewService(nil, nil, tenant.CallbackRule{}, nil, nil)
	for what, work := range map[string]func() error{
		"QR codes": func() error { _, err := page.QRCode(ended, uuid.New(), "text", qr.L, 8); return err },
		"logos":    func() error { _, err := tenants.DecodeLogo(ended, uuid.New(), []byte("x")); return err },
	} {
		if err := work(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
