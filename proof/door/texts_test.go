package door

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "copy the gateway's texts to the door")

// TestTexts: but for its own, the door's texts are the gateway's, in each of its
// languages.
func TestTexts(t *testing.T) {
	t.Parallel()
	const file = "../../sdk/door/texts.json"
	texts, catalogue := map[string]map[string]string{}, map[string]map[string]any{}
	read(t, file, &texts)
	locales, err := filepath.Glob("../../templates/shopper/locales/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, locale := range locales {
		var all map[string]any
		read(t, locale, &all)
		catalogue[strings.TrimSuffix(filepath.Base(locale), ".json")] = all
	}
	if len(texts) != len(catalogue) {
		t.Errorf("%d languages, the gateway has %d", len(texts), len(catalogue))
	}
	for tag, all := range texts {
		for key, text := range all {
			if original, ok := catalogue[tag][key].(string); !strings.HasPrefix(key, "door.") && original != text {
				t.Errorf("%s: %s is %q, the gateway's %q (%v): run this test with -update", tag, key, text, original, ok)
				all[key] = original
			}
		}
	}
	if *update {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(texts); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, file string, to any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(file, err)
	}
}
