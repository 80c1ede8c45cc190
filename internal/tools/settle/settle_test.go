package settle

import (
	"os"
	"testing"
)

func TestStaleFilesAreReported(t *testing.T) {
	t.Chdir(t.TempDir())
	made := map[string][]byte{"a.svg": []byte("new")}
	if err := Files(made, true); err == nil {
		t.Error("a missing file is not reported")
	}
	if err := Files(made, false); err != nil {
		t.Fatal(err)
	}
	if err := Files(made, true); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile("a.svg", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Files(made, true); err == nil {
		t.Error("a stale file is not reported")
	}
}
