package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

const shop = Scope("0190c0de-0000-7000-8000-000000000001")

// moment is a time that is not UTC and not in whole microseconds.
var moment = time.Date(2026, 3, 31, 23, 59, 59, 123456789, time.FixedZone("", 2*60*60))

// memory is a Store of one log.
type memory struct {
	entries []Entry
	head    Head
}

func (m *memory) append(t testing.TB, act Act) {
	t.Helper()
	e, err := m.head.Next(act)
	if err != nil {
		t.Fatal(err)
	}
	m.entries, m.head = append(m.entries, e), Head{e.Seq, e.Hash}
}

func (m *memory) AuditEntries(context.Context, Filter) ([]Entry, error) { return nil, nil }

func (m *memory) AuditChain(_ context.Context, _ Scope, after int64, limit int) (page []Entry, _ error) {
	for _, e := range m.entries {
		if e.Seq > after && len(page) < limit {
			page = append(page, e)
		}
	}
	return page, nil
}

func (m *memory) AuditHead(context.Context, Scope) (Head, error) { return m.head, nil }

func (m *memory) AuditScopes(context.Context, Scope, int) ([]Scope, error) { return nil, nil }

// written returns a log of n entries.
func written(t testing.TB, n int) *memory {
	t.Helper()
	m := &memory{}
	for i := range n {
		m.append(t, Act{
			Scope: shop, At: moment.Add(time.Duration(i) * time.Second), Actor: Actor{KindCLI, "1000", "root"},
			Action: TenantUpdate, Target: string(shop), Detail: Detail{Changes: []Change{{"name", "A", "B"}}},
		})
	}
	return m
}

// TestHashes compares the hashes with those that another program computed from
// the description of Entry.sum.
func TestHashes(t *testing.T) {
	m := &memory{}
	m.append(t, Act{
		Scope: shop, At: moment, Actor: Actor{KindCLI, "1000", "root"}, Action: TenantCreate, Target: string(shop),
		Detail: Detail{Changes: []Change{{Setting: "name", New: "Vin & Øl"}}},
	})
	m.append(t, Act{
		Scope: shop, At: moment.Add(876543211 * time.Nanosecond), Action: APIKeyCreate, Target: "key",
		Actor:  User(uuid.MustParse("0190c0de-0000-7000-8000-000000000002"), ""),
		Detail: Detail{Params: map[string]string{"mode": Mode(true)}},
	})
	for i, want := range []string{
		"b358d883f506a233566deac75635d189e91f548cef5254da95652a592ae68c5f",
		"e281e9f5854f0a908503431226d0167588871453d60309bf1ee6138aa4dce41c",
	} {
		if got := m.entries[i].Hash.String(); got != want {
			t.Errorf("entry %d: hash %s, want %s", i+1, got, want)
		}
	}
}

func TestNextRefuses(t *testing.T) {
	good := Act{Scope: shop, At: moment, Actor: System("test"), Action: TenantUpdate}
	for name, spoil := range map[string]func(*Act){
		"no actor":         func(a *Act) { a.Actor = Actor{} },
		"an unknown kind":  func(a *Act) { a.Actor.Kind = "shopper" },
		"no scope":         func(a *Act) { a.Scope = "" },
		"no action":        func(a *Act) { a.Action = "" },
		"no time":          func(a *Act) { a.At = time.Time{} },
		"a NUL":            func(a *Act) { a.Actor.Name = "a\x00b" },
		"broken UTF-8":     func(a *Act) { a.Target = "\xff" },
		"a NUL in the ID":  func(a *Act) { a.Actor.ID = "\x00" },
		"a NUL in a scope": func(a *Act) { a.Scope = "\x00" },
	} {
		act := good
		spoil(&act)
		if e, err := (Head{}).Next(act); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if _, err := (Head{}).Next(good); err != nil {
		t.Error(err)
	}
}

func TestVerifyFindsWhatWasTamperedWith(t *testing.T) {
	const n = 5
	for name, tt := range map[string]struct {
		seq    int64 // of the entry that is reported; 0: none
		tamper func(m *memory)
	}{
		"nothing":         {0, func(*memory) {}},
		"no entries":      {0, func(m *memory) { *m = memory{} }},
		"scope":           {3, func(m *memory) { m.entries[2].Scope = Instance }},
		"time":            {3, func(m *memory) { m.entries[2].At = m.entries[2].At.Add(time.Microsecond) }},
		"kind of actor":   {3, func(m *memory) { m.entries[2].Actor.Kind = KindUser }},
		"ID of actor":     {3, func(m *memory) { m.entries[2].Actor.ID = "0" }},
		"name of actor":   {3, func(m *memory) { m.entries[2].Actor.Name = "" }},
		"text moved":      {3, func(m *memory) { m.entries[2].Actor.ID, m.entries[2].Actor.Name = "1000r", "oot" }},
		"action":          {3, func(m *memory) { m.entries[2].Action = TenantCreate }},
		"target":          {3, func(m *memory) { m.entries[2].Target = "x" }},
		"detail":          {3, func(m *memory) { m.entries[2].Detail = []byte("{}") }},
		"space in detail": {3, func(m *memory) { m.entries[2].Detail = append(m.entries[2].Detail, ' ') }},
		"hash before":     {3, func(m *memory) { m.entries[2].PrevHash[0] ^= 1 }},
		"hash":            {3, func(m *memory) { m.entries[2].Hash[31] ^= 1 }},
		"first":           {1, func(m *memory) { m.entries[0].Target = "x" }},
		"last":            {n, func(m *memory) { m.entries[n-1].Target = "x" }},
		"first removed":   {1, func(m *memory) { m.entries = m.entries[1:] }},
		"one removed":     {3, func(m *memory) { m.entries = slices.Delete(m.entries, 2, 3) }},
		"last removed":    {n, func(m *memory) { m.entries = m.entries[:n-1] }},
		"all removed":     {1, func(m *memory) { m.entries = nil }},
		"end removed":     {n, func(m *memory) { m.head = Head{} }},
		"end set back":    {n, func(m *memory) { m.head = Head{n - 1, m.entries[n-2].Hash} }},
		"end of another":  {n, func(m *memory) { m.head.Hash[0] ^= 1 }},
		"renumbered":      {3, func(m *memory) { m.entries = slices.Delete(m.entries, 2, 3); m.entries[2].Seq = 3 }},
		"exchanged": {2, func(m *memory) {
			m.entries[1], m.entries[2] = m.entries[2],
				m.entries[1]
			m.entries[1].Seq = 2
		}},
		"changed and resealed": {4, func(m *memory) {
			m.entries[2].Target = "x"
			m.entries[2].Hash = m.entries[2].sum()
		}},
	} {
		m := written(t, n)
		tt.tamper(m)
		end, err := Verify(t.Context(), m, shop)
		var broken *BrokenError
		switch {
		case tt.seq == 0 && (err != nil || end != m.head):
			t.Errorf("%s: %v, %v", name, end, err)
		case tt.seq != 0 && (!errors.As(err, &broken) || broken.Seq != tt.seq || broken.Scope != shop):
			t.Errorf("%s: %v, want entry %d reported", name, err, tt.seq)
		}
	}
}

// growing is a Store that appends an entry before each read, as a busy gateway would.
type growing struct {
	*memory
	t    testing.TB
	left int
}

func (g *growing) grow() {
	if g.left > 0 {
		g.left--
		g.append(g.t, Act{Scope: shop, At: moment, Actor: System("test"), Action: TenantUpdate})
	}
}

func (g *growing) AuditChain(ctx context.Context, scope Scope, after int64, limit int) ([]Entry, error) {
	g.grow()
	return g.memory.AuditChain(ctx, scope, after, limit)
}

func (g *growing) AuditHead(ctx context.Context, scope Scope) (Head, error) {
	g.grow()
	return g.memory.AuditHead(ctx, scope)
}

func TestVerifyBesideWriters(t *testing.T) {
	for _, n := range []int{0, 1, chainBatch - 1, chainBatch, chainBatch + 1} {
		g := &growing{written(t, n), t, 7}
		if end, err := Verify(t.Context(), g, shop); err != nil || end != g.head {
			t.Errorf("%d entries: %v, %v", n, end, err)
		}
	}
}

func TestExport(t *testing.T) {
	m := written(t, chainBatch+3)
	var out bytes.Buffer
	if end, err := Export(t.Context(), m, shop, &out); err != nil || end != m.head {
		t.Fatal(end, err)
	}
	text := out.String()
	scope, end, err := VerifyExport(strings.NewReader(text))
	if err != nil || scope != shop || end != m.head {
		t.Errorf("the export does not verify: %s, %v, %v", scope, end, err)
	}
	var broken *BrokenError
	if _, _, err := VerifyExport(strings.NewReader(strings.Replace(text, `"old":"A"`, `"old":"C"`, 1))); !errors.As(err,
		&broken) || broken.Seq != 1 {
		t.Errorf("a changed export: %v", err)
	}
	if _, _, err := VerifyExport(strings.NewReader("canary")); err == nil || errors.As(err, &broken) ||
		strings.Contains(err.Error(), "canary") {
		t.Errorf("no export: %v", err)
	}
	m.entries[0].Target = "x"
	if _, err := Export(t.Context(), m, shop, &out); !errors.As(err, &broken) {
		t.Errorf("a broken log was exported: %v", err)
	}
}

// FuzzVerifyExport: an export that verifies has as many entries as its end says, and the same text
// cut short has a different end.
func FuzzVerifyExport(f *testing.F) {
	var out bytes.Buffer
	if _, err := Export(f.Context(), written(f, 3), shop, &out); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		_, end, err := VerifyExport(bytes.NewReader(text))
		if err != nil {
			return
		}
		ends := map[Head]bool{}
		dec := json.NewDecoder(bytes.NewReader(text))
		for {
			var e Entry
			if err := dec.Decode(&e); err != nil {
				break
			}
			ends[Head{e.Seq, e.Hash}] = true
		}
		if int64(len(ends)) != end.Seq || end.Seq > 0 && !ends[end] {
			t.Errorf("%d entries, the end is %d", len(ends), end.Seq)
		}
	})
}
