package accuracy_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"agegate/internal/lab/accuracy"
)

// write writes files into a new directory and returns its path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadSet(t *testing.T) {
	rows := []struct {
		name  string
		files map[string]string
		set   string
		want  []accuracy.Picture // paths relative to the directory
	}{
		{"CSV without heading", map[string]string{"set.csv": "a.jpg,17\nb.jpg, 31,indoors\n"}, "set.csv",
			[]accuracy.Picture{{Path: "a.jpg", Age: 17}, {Path: "b.jpg", Age: 31, Groups: []string{"indoors"}}}},
		{"CSV with a byte order mark and Windows line ends",
			map[string]string{"set.csv": "\ufeffa.jpg,17\r\n\"b.jpg\",31\r\n"}, "set.csv",
			[]accuracy.Picture{{Path: "a.jpg", Age: 17}, {Path: "b.jpg", Age: 31}}},
		{"CSV with heading in another order", map[string]string{"set.csv": "\ufeffGroup,Age,File\nx; y,8,\"c,d.jpg\"\n"},
			"set.csv",
			[]accuracy.Picture{{Path: "c,d.jpg", Age: 8, Groups: []string{"x", "y"}}}},
		{"directory with everything under it",
			map[string]string{"25_0_a.jpg": "", "sub/9.PNG": "", "README": "", "notes.csv": "", "._25_0_a.jpg": "",
				".trash/x.jpg": ""}, ".",
			[]accuracy.Picture{{Path: "25_0_a.jpg", Age: 25}, {Path: "sub/9.PNG", Age: 9}}},
		{"names of UTKFace", map[string]string{"31_1_3_20170110.jpg": "", "4_0_0_x.jpg": "", "60_2_0_x.jpg": "",
			"7 b.png": ""}, ".",
			[]accuracy.Picture{
				{Path: "31_1_3_20170110.jpg", Age: 31, Groups: []string{"female", "Indian"}},
				{Path: "4_0_0_x.jpg", Age: 4, Groups: []string{"male", "White"}}, {Path: "60_2_0_x.jpg", Age: 60},
				{Path: "7 b.png", Age: 7},
			}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := write(t, row.files)
			got, err := accuracy.ReadSet(filepath.Join(dir, row.set))
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i].Path, _ = filepath.Rel(dir, got[i].Path)
			}
			if !reflect.DeepEqual(got, row.want) {
				t.Errorf("read %+v, want %+v", got, row.want)
			}
		})
	}
}

func TestReadSetNamesWhatItCannotUse(t *testing.T) {
	rows := []struct {
		name  string
		files map[string]string
		set   string
		want  []string
	}{
		{"nothing there", nil, "none", []string{"none"}},
		{"empty directory", nil, ".", []string{"holds no labelled picture"}},
		{"empty CSV", map[string]string{"set.csv": ""}, "set.csv", []string{"set.csv holds no labelled picture"}},
		{"heading only", map[string]string{"set.csv": "file,age\n"}, "set.csv",
			[]string{"set.csv holds no labelled picture"}},
		{"picture without an age", map[string]string{"face.jpg": ""}, ".", []string{"face.jpg", "begin with the age"}},
		{"a person's number before the age", map[string]string{"001A02.jpg": ""}, ".",
			[]string{"001A02.jpg", "begin with the age", "CSV"}},
		{"a number with leading zeros", map[string]string{"025_a.jpg": ""}, ".", []string{"025_a.jpg", "begin with the age"}},
		{"estimate is no number", map[string]string{"set.csv": "file,age,estimate\na.jpg,17,NaN\n"}, "set.csv",
			[]string{"line 2", "a.jpg", "estimate"}},
		{"pad out of range", map[string]string{"set.csv": "file,age,pad\na.jpg,17,9\n"}, "set.csv",
			[]string{"line 2", "a.jpg", "pad"}},
		{"age out of range", map[string]string{"2016_face.jpg": ""}, ".", []string{"2016_face.jpg"}},
		{"label is no number", map[string]string{"set.csv": "a.jpg,17\nb.jpg,old\n"}, "set.csv",
			[]string{"set.csv, line 2", "b.jpg", "whole number"}},
		{"label missing", map[string]string{"set.csv": "file,age\nb.jpg\n"}, "set.csv",
			[]string{"set.csv, line 2", "a file and an age"}},
		{"negative age", map[string]string{"set.csv": "b.jpg,-3\n"}, "set.csv", []string{"line 1", "b.jpg"}},
		{"file missing", map[string]string{"set.csv": ",30\n"}, "set.csv", []string{"line 1", "file is missing"}},
		{"broken quotes", map[string]string{"set.csv": "a.jpg,17\n\"b\"c,2\n"}, "set.csv", []string{"set.csv", "line 2"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := accuracy.ReadSet(filepath.Join(write(t, row.files), row.set))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

// TestReadMaterial: a list that WriteMaterial wrote says which pictures are held out,
// and its pads go before the one given.
func TestReadMaterial(t *testing.T) {
	dir := write(t, map[string]string{"pictures.csv": "file,age,pad,held\na.jpg,17,0,1\nb.jpg,30,,0\n"})
	set, err := accuracy.ReadSets([]string{filepath.Join(dir, "pictures.csv")}, []float64{0.2})
	if err != nil || len(set) != 2 {
		t.Fatalf("%+v, %v", set, err)
	}
	if a, b := set[0], set[1]; !a.Held || a.Pad != 0 || b.Held || b.Pad != 0.2 {
		t.Errorf("read %+v and %+v", a, b)
	}
}
