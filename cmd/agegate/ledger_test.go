package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/billing"
)

func TestLedgerArchive(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o *retentionTest) {
		owner := o.tenant()
		o.exec("UPDATE tenants SET created_at = '2020-01-01 00:00:00+00:00'")
		month := time.Date(now().Year(), now().Month(), 1, 0, 0, 0, 0, time.UTC)
		ago := func(months int) time.Duration { return now().Sub(month.AddDate(0, -months, 10)) }
		for range 3 {
			o.passed(owner, ago(4))
		}
		o.session(owner, ago(3))
		o.passed(owner, ago(2))
		o.passed(owner, ago(1))
		use := func() []insight.Month {
			months, err := insight.NewService(o.store, billing.Limits{}, now).Months(t.Context(), owner, 12)
			o.must(err)
			return months
		}
		before := use()
		if before[4].CreditUsed != 3 || before[2].CreditUsed != 1 {
			t.Fatalf("the months' use is %+v", before)
		}
		credit, err := o.store.Credit(t.Context(), owner)
		o.must(err)

		file := filepath.Join(t.TempDir(), "ledger.jsonl.gz")
		archive := []string{"ledger", "archive", "--to", file}
		o.refused("--before must be a month", append(archive, "--before", "May")...)
		o.refused("at the latest", append(archive, "--before", month.AddDate(0, -1, 0).Format("2006-01"))...)
		o.refused("tenant not found", append(archive, "--tenant", "0190c0de-0000-7000-8000-000000000001")...)
		o.refused("no such file", "ledger", "archive", "--to", filepath.Join(t.TempDir(), "none", "ledger.gz"))
		o.want("refused", map[string]int{"ledger_entries": 12})
		if said := o.run(archive...); said != "Lines archived: 7.\n" {
			t.Errorf("it says %q", said)
		}
		// The top-up, sums of two months, and the lines of two sessions.
		o.want("archived", map[string]int{"ledger_entries": 7})
		written, err := os.ReadFile(file)
		o.must(err)
		lines, err := gzip.NewReader(bytes.NewReader(written))
		o.must(err)
		text, err := io.ReadAll(lines)
		o.must(err)
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 ||
			strings.Count(string(text), "\n") != 7 || strings.Count(string(text), `"kind":"settle"`) != 3 {
			t.Errorf("the file has %s", text)
		}
		if after := use(); !reflect.DeepEqual(before, after) {
			t.Errorf("the months' use is %+v, was %+v", after, before)
		}
		if left, err := o.store.Credit(t.Context(), owner); err != nil || left != credit {
			t.Errorf("the credit is %d, was %d, %v", left, credit, err)
		}
		if log := o.run("audit", "list", "--instance"); !strings.Contains(log, "ledger.archive") {
			t.Errorf("the log has %s", log)
		}

		if said := o.run(archive...); said != "Lines archived: 0.\n" {
			t.Errorf("again, it says %q", said)
		}
		o.session(owner, ago(5))
		o.refused("lacks", archive...)
		if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, written) {
			t.Error("the file has changed")
		}
		other := []string{"ledger", "archive", "--to", file + ".2", "--tenant", owner.String()}
		if said := o.run(other...); said != "Lines archived: 1.\n" {
			t.Errorf("to another file, it says %q", said)
		}
	})
}

// TestArchiveIsWhole: a file that cannot be written whole does not appear, and nothing is replaced.
func TestArchiveIsWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write := func(text string) error {
		return writeWhole(file, os.Link, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			if text == "" {
				err = io.ErrShortWrite
			}
			return err
		})
	}
	if err := write(""); err == nil {
		t.Error("a failed writer is no error")
	}
	if err := write("one"); err != nil {
		t.Fatal(err)
	}
	if err := write("two"); !os.IsExist(err) {
		t.Errorf("a file is overwritten: %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if text, failed := os.ReadFile(file); failed != nil || string(text) != "one" || err != nil || len(left) != 1 {
		t.Errorf("there are %v and the file has %q", left, text)
	}
}
