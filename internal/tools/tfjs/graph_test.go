package tfjs

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHalfFloats checks binary16 values from the table of IEEE 754-2008.
func TestHalfFloats(t *testing.T) {
	rows := map[uint16]float64{
		0x0000: 0, 0x3c00: 1, 0xc000: -2, 0x3555: 0.333251953125, 0x7bff: 65504,
		0x0001: 5.960464477539063e-8, 0x83ff: -6.097555160522461e-5, 0x0400: 6.103515625e-5,
		0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
	}
	for bits, want := range rows {
		if got := fromHalf(bits); float64(got) != want {
			t.Errorf("%04x is %v, want %v", bits, got, want)
		}
	}
	if got := fromHalf(0x7e00); got == got {
		t.Errorf("7e00 is %v, want not a number", got)
	}
}

func TestTranspose(t *testing.T) {
	in := tensor{shape: []int64{1, 2, 3, 1}, floats: []float32{0, 1, 2, 3, 4, 5}}
	out := transpose(in, [4]int{3, 2, 0, 1})
	if !slices.Equal(out.shape, []int64{1, 3, 1, 2}) || !slices.Equal(out.floats, []float32{0, 3, 1, 4, 2, 5}) {
		t.Errorf("%+v", out)
	}
}

// TestRefusals: a graph that the converter does not understand gives an error
// that names the node, never a wrong model.
func TestRefusals(t *testing.T) {
	const input = `{"name":"in","op":"Placeholder","attr":{"shape":{"shape":{"dim":[{"size":"1"},{"size":"4"},{"size":"4"},{"size":"3"}]}}}}`
	rows := []struct{ name, nodes, weights, want string }{
		{"operator", input + `,{"name":"out","op":"Elu","input":["in"]}`, "", "node out (Elu): unsupported operator"},
		{"missing node", `{"name":"out","op":"Relu","input":["gone"]}`, "", "no node gone"},
		{"quantized weights", input, `{"name":"w","shape":[1],"dtype":"float32","quantization":{"dtype":"uint4"}}`,
			`weight w: unsupported type "uint4"`},
		{"short weights", input, `{"name":"w","shape":[9],"dtype":"float32"}`, "weight w: weight file ends early"},
	}
	for _, row := range rows {
		dir := t.TempDir()
		path := filepath.Join(dir, "m.json")
		text := `{"modelTopology":{"node":[` + row.nodes + `]},"weightsManifest":[{"paths":["m.bin"],"weights":[` +
			row.weights + `]}]}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "m.bin"), make([]byte, 4), 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := Load(path)
		if err == nil {
			_, err = g.ToONNX([]Output{{Node: "out", Name: "result"}})
		}
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}
}
