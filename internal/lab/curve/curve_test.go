package curve_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"agegate/internal/lab/curve"

	"pgregory.net/rapid"
)

// drawn returns a curve of random pictures, and the estimates of those pictures.
func drawn(t *rapid.T) (*curve.Curve, map[int][]float64) {
	c := &curve.Curve{Format: curve.Format, Name: "drawn", Estimator: "e1", MadeAt: time.Unix(1767225600, 0).UTC()}
	pictures := map[int][]float64{}
	for _, years := range rapid.SliceOfNDistinct(rapid.IntRange(0, 120), 1, 9, rapid.ID).Draw(t, "ages") {
		pictures[years] = rapid.SliceOfN(rapid.Float64Range(0, 120), 1, 9).Draw(t, "estimates")
	}
	for years := range 121 {
		a := curve.Age{Years: years}
		for _, estimate := range pictures[years] {
			a.Add(estimate)
		}
		if a.Count > 0 {
			c.Ages = append(c.Ages, a)
		}
	}
	return c, pictures
}

// TestPassing: a curve that was written and read back gives the same counts as
// the pictures themselves.
func TestPassing(t *testing.T) {
	path := filepath.Join(t.TempDir(), curve.FileName)
	rapid.Check(t, func(t *rapid.T) {
		c, pictures := drawn(t)
		if err := c.Write(path); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		back, err := curve.Parse(text)
		if err != nil || !reflect.DeepEqual(back, c) {
			t.Fatalf("%+v became %+v, %v", c, back, err)
		}
		from, to := rapid.IntRange(0, 120).Draw(t, "from"), rapid.IntRange(0, 120).Draw(t, "to")
		cutoff := rapid.IntRange(curve.Lowest, curve.Highest).Draw(t, "cutoff")
		var n, of int64
		for years, estimates := range pictures {
			for _, estimate := range estimates {
				if years >= from && years <= to {
					if of++; estimate >= float64(cutoff) {
						n++
					}
				}
			}
		}
		if gotN, gotOf := back.Passing(from, to, float64(cutoff)); gotN != n || gotOf != of {
			t.Errorf("%d of %d, want %d of %d", gotN, gotOf, n, of)
		}
		if half, _ := back.Passing(from, to, float64(cutoff)+.5); half != n && cutoff < curve.Highest {
			t.Errorf("half a year on %d, want %d", half, n)
		}
	})
}

// TestParse: each fault of a file has its own error.
func TestParse(t *testing.T) {
	passes := strings.TrimSpace(strings.Repeat("1 ", curve.Highest-curve.Lowest+1))
	good := `{"format":1,"estimator":"e1","ages":[{"age":4,"count":2,"passes":"` + passes + `"}]}`
	if c, err := curve.Parse([]byte(good)); err != nil || c.Pictures() != 2 {
		t.Fatalf("%v, %v", c, err)
	}
	for name, tt := range map[string]struct{ old, new, problem string }{
		"no JSON":        {`{"format"`, `{format`, "invalid character"},
		"another format": {`"format":1`, `"format":2`, "format 2"},
		"no ages":        {good, `{"format":1,"estimator":"e1"}`, "no ages"},
		"too old":        {`"age":4`, `"age":121`, "ascend"},
		"no pictures":    {`"count":2`, `"count":0`, "age 4"},
		"too few counts": {`1 1 1"`, `1 1"`, "age 4"},
		"no number":      {`1 1 1"`, `1 1 x"`, "whole numbers"},
		"rising":         {`1 1 1"`, `1 1 2"`, "rise"},
		"negative":       {`1 1 1"`, `1 1 -1"`, "rise"},
		"more than all":  {`"passes":"1`, `"passes":"3`, "rise"},
	} {
		_, err := curve.Parse([]byte(strings.Replace(good, tt.old, tt.new, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzParse: a curve that Parse accepts can be asked for every cutoff.
func FuzzParse(f *testing.F) {
	passes := strings.TrimSpace(strings.Repeat("0 ", curve.Highest-curve.Lowest+1))
	f.Add([]byte(`{"format":1,"ages":[{"age":4,"count":2,"passes":"` + passes + `"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := curve.Parse(text)
		if err != nil {
			return
		}
		for cutoff := curve.Lowest; cutoff <= curve.Highest; cutoff++ {
			if n, of := c.Passing(0, 120, float64(cutoff)); n < 0 || n > of {
				t.Fatalf("%d of %d pass at %d", n, of, cutoff)
			}
		}
	})
}
