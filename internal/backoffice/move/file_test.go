package move_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/move"

	"github.com/google/uuid"
)

// TestValues: values of every kind are read as they were written.
func TestValues(t *testing.T) {
	want := move.Row{
		"null": nil, "yes": true, "int": int64(math.MaxInt64), "low": int64(math.MinInt64), "float": 25.5,
		"text": "a\n\"<é>\u2028", "empty": "",
		"bytes": []byte{0, 255, '\n'}, "none": []byte{}, "time": time.Date(2026, 11, 23, 1, 2, 3, 456789000, time.UTC),
	}
	var file bytes.Buffer
	head := move.Header{Move: uuid.New(), Tenant: uuid.New(), VerifyURL: "https://v.example"}
	w, err := move.NewWriter(&file, pass, head)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(move.Record{Table: "x", Row: want}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(move.Record{Table: "x", Row: move.Row{"wrong": 1}}); err == nil {
		t.Error("an int was written")
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(file.Bytes(), []byte(head.Tenant.String())) {
		t.Error("the file is not encrypted")
	}
	r, err := move.NewReader(&file, pass)
	if err != nil {
		t.Fatal(err)
	}
	if r.Header.Move != head.Move || r.Header.Tenant != head.Tenant || r.Header.VerifyURL != head.VerifyURL {
		t.Errorf("header %+v", r.Header)
	}
	got, err := r.Next()
	if err != nil || got.Table != "x" || !reflect.DeepEqual(got.Row, want) {
		t.Errorf("read %v, %v; want %v", got, err, want)
	}
}

// TestWork: a file that would cost more to open than maxWork is refused, and so is
// a weak passphrase.
func TestWork(t *testing.T) {
	costly := "age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA 30\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n--- AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
	if _, err := move.NewReader(strings.NewReader(costly), pass); !errors.Is(err, move.ErrNoFile) {
		t.Errorf("a work factor of 30: %v", err)
	}
	if _, err := move.NewWriter(io.Discard, "short", move.Header{}); !errors.Is(err, move.ErrWeak) {
		t.Errorf("a short passphrase: %v", err)
	}
}

// TestContent: content that is not complete, or not what this release reads, is
// refused.
func TestContent(t *testing.T) {
	const head = `{"format":"agegate tenant","version":1,"move":"0190c0de-5a3b-7c1d-9e2f-4b6a8d0c1e3f","tenant":"0190c0de-5a3b-7c1d-9e2f-4b6a8d0c1e3f"}` + "\n"
	const row, end = `{"table":"x","row":{"a":1}}` + "\n", `{"end":{"x":1}}` + "\n"
	for name, c := range map[string]struct {
		content string
		want    error
	}{
		"complete":       {head + row + end, io.EOF},
		"no end":         {head + row, move.ErrDamaged},
		"a row less":     {head + end, move.ErrDamaged},
		"a row more":     {head + row + row + end, move.ErrDamaged},
		"more after it":  {head + row + end + row, move.ErrDamaged},
		"half a line":    {head + row + end[:8], move.ErrDamaged},
		"empty record":   {head + `{"table":"x"}` + "\n" + end, move.ErrDamaged},
		"no value":       {head + `{"table":"x","row":{"a":[1]}}` + "\n" + end, move.ErrDamaged},
		"bad bytes":      {head + `{"table":"x","row":{"a":{"base64":"!"}}}` + "\n" + end, move.ErrDamaged},
		"endless line":   {head + `{"table":"` + strings.Repeat("x", 5<<20) + `"}` + "\n" + end, move.ErrDamaged},
		"another format": {`{"format":"x"}` + "\n", move.ErrNoFile},
		"newer version":  {strings.Replace(head, `"version":1`, `"version":2`, 1), move.ErrNewer},
		"nothing":        {"", move.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := move.ReadPlain(strings.NewReader(c.content))
			for err == nil {
				_, err = r.Next()
			}
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// FuzzContent: any content is read to its end or refused, and what is read can be
// written again.
func FuzzContent(f *testing.F) {
	f.Add([]byte(`{"format":"agegate tenant","version":1,"move":"0190c0de-5a3b-7c1d-9e2f-4b6a8d0c1e3f","tenant":"0190c0de-5a3b-7c1d-9e2f-4b6a8d0c1e3f"}
{"table":"x","row":{"a":1,"b":null,"c":{"base64":"AA=="},"d":{"time":"2026-11-23T00:00:00Z"},"e":1.5,"f":true}}
{"end":{"x":1}}
`))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := move.ReadPlain(bytes.NewReader(content))
		if err != nil {
			return
		}
		w, err := move.NewWriter(io.Discard, pass, r.Header)
		if err != nil {
			t.Fatal(err)
		}
		for {
			record, err := r.Next()
			if errors.Is(err, io.EOF) || errors.Is(err, move.ErrDamaged) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(record); err != nil {
				t.Fatal(err)
			}
		}
	})
}
