package evidence_test

import (
	"archive/zip"
	"bytes"
	"slices"
	"strings"
	"testing"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/gatewaytest"
)

// rewritten returns the archive as another program writes it, compressed.
func rewritten(t *testing.T, pack []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, data := range unpack(t, pack) {
		part, err := w.Create(name)
		if err == nil {
			_, err = part.Write([]byte(data))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestForgery: a change of any byte is found, and no file can be added, removed or signed with another key.
func TestForgery(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.SQLite(t))
	_, request := demo(t, g)
	made := service(t, g)
	pack, err := made.Pack(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	const damaged = "damaged, or changed since it was signed"
	for i := range pack {
		bit := byte(1) << (i % 8)
		pack[i] ^= bit
		if _, err := evidence.Verify(pack, nil); err == nil || !strings.HasSuffix(err.Error(), damaged) {
			t.Fatalf("byte %d of %d, changed by %d: %v", i, len(pack), bit, err)
		}
		pack[i] ^= bit
	}
	for name, forged := range map[string][]byte{
		"longer": append(slices.Clone(pack), 0), "shorter": pack[:len(pack)-1], "before": append([]byte{0}, pack...),
		"rewritten": rewritten(t, pack),
	} {
		_, err := evidence.Verify(forged, nil)
		if err == nil || name != "before" && !strings.HasSuffix(err.Error(), damaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := evidence.Verify(nil, nil); err == nil || strings.HasSuffix(err.Error(), damaged) {
		t.Errorf("no file: %v", err)
	}
	other, err := evidence.NewKey(bytes.Repeat([]byte{8}, 32))
	if err != nil {
		t.Fatal(err)
	}
	public := other.Public()
	if _, err := evidence.Verify(pack, &public); err == nil {
		t.Error("another key than the published one is accepted")
	}
	signing := evidence.NewService(g.App.Store, g.App.Insight, other, about(t), g.Clock.Now)
	foreign, err := signing.Pack(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	key := made.Key()
	if _, err := evidence.Verify(foreign, &key); err == nil {
		t.Error("a pack that somebody else signed is accepted")
	}
}
