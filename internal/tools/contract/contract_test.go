package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestInsertSamples(t *testing.T) {
	samples := map[string]string{"a.py": "# a.py\nif x:\n    y\n\nz\n", "a.php": "<?php\n// a.php\necho 1;\n",
		"c.py": "# c.py\n"}
	text := "before\n  ```python\n  # a.py\n  old\n  ```\nafter\n```sh\n# b.sh\n```\n```php\n<?php\n// a.php\n```\n"
	want := "before\n  ```python\n  # a.py\n  if x:\n      y\n\n  z\n  ```\nafter\n```sh\n# " +
		"b.sh\n```\n```php\n<?php\n// a.php\necho 1;\n```\n"
	for range 2 { // the second run changes nothing
		got, names, err := insertSamples([]byte(text), samples)
		if err != nil || string(got) != want || !slices.Equal(names, []string{"a.php", "a.py"}) {
			t.Fatalf("got %v\n%s", err, got)
		}
		text = string(got)
	}
	if _, _, err := insertSamples([]byte(text+text), samples); err == nil {
		t.Error("a document with two places for a sample was taken")
	}
}

func TestConvert30(t *testing.T) {
	document, err := os.ReadFile("../../../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := convert30(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"openapi: 3.0.3\n", "nullable: true\n", "CompletionEvent:\n",
		"\n      callbacks:\n        sessionCompleted:\n          https://shop.example.com/webhooks/agegate:\n            " +
			"post:\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the edition lacks %q", want)
		}
	}
	for _, not := range []string{"\nwebhooks:", "\n  summary:", "'null'"} {
		if strings.Contains(string(got), not) {
			t.Errorf("the edition has %q", not)
		}
	}
	for old, made := range map[string]string{
		"openapi: 3.1.0":           "openapi: 3.2.0",
		"\nwebhooks:\n":            "\nx-webhooks:\n",
		"sessions/create:\n":       "sessions/made:\n",
		"type: [number, 'null']":   "type: [number, string]",
		"type: integer\n":          "type: integer\n          const: 18\n",
		"    SessionStatus:\n":     "    Unknown:\n      $ref: '#/components/schemas/Nowhere'\n    SessionStatus:\n",
		"type: [number, 'null']\n": "type: [number, string, 'null']\n",
	} {
		changed := strings.Replace(string(document), old, made, 1)
		if _, err := convert30([]byte(changed)); err == nil {
			t.Errorf("a document with %q was converted", made)
		}
	}
}

func TestGenerateSDKs(t *testing.T) {
	document, err := os.ReadFile("../../../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files, err := generateSDKs(document)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"sdk/go/api.gen.go": {"\tSuccessURL string `json:\"success_url,omitempty\"`", "\tDetectedAge  *float64 ",
			"func (c *Client) GetSessionStatus(ctx context.Context, sessionID string)"},
		"sdk/typescript/types.d.ts": {`"success_url"?: string;`, `"detected_age": number | null;`, `  | "VERIFIED"`},
		"sdk/python/agegate/_types.py": {"class CreateSessionRequest(_CreateSessionRequest, total=False)",
			"detected_age: float | None", `    "webhook-id": str,`},
	} {
		for _, line := range want {
			if !strings.Contains(string(files[file]), line) {
				t.Errorf("%s lacks %q", file, line)
			}
		}
	}
	for old, made := range map[string]string{
		"type: [number, 'null']":      "type: [number, string]",
		"x-enum-varnames: [Verified,": "x-names: [Verified,",
		"name: Idempotency-Key\n":     "name: Idempotency-Key\n      required: true\n",
		"operationId: createSession":  "summary: Create",
	} {
		changed := strings.Replace(string(document), old, made, 1)
		if _, err := generateSDKs([]byte(changed)); err == nil {
			t.Errorf("SDKs were made of a document with %q", made)
		}
	}
}
