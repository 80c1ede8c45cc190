package contract

import "testing"

func TestFormats(t *testing.T) {
	for _, tt := range []struct {
		format, value string
		good          bool
	}{
		{"uuid", "0190c0de-5a3b-7c1d-9e2f-4b6a8d0c1e3f", true},
		{"uuid", "0190C0DE-5A3B-7C1D-9E2F-4B6A8D0C1E3F", true},
		{"uuid", "0190c0de5a3b7c1d9e2f4b6a8d0c1e3f", false},
		{"uuid", "{0190c0de-5a3b-7c1d-9e2f-4b6a8d0c1e3f}", false},
		{"uuid", "urn:uuid:0190c0de-5a3b-7c1d-9e2f-4b6a8d0c1e3f", false},
		{"uuid", "0190c0de-5a3b-7c1d-9e2f-4b6a8d0c1e3g", false},
		{"uuid", "", false},
		{"uri", "https://a.example", true},
		{"uri", "https://a.example/caf\u00e9?x=%20#y", true},
		{"uri", "//a.example/x", false},
		{"uri", "/x", false},
		{"uri", "a.example", false},
		{"uri", "https://a.example/ x", false},
		{"uri", "https://a.example/\tx", false},
		{"uri", "https://a.example/\u0085x", false},
		{"uri", `https:\\a.example`, false},
		{"uri", "https://a.example/%zz", false},
		{"uri", "", false},
	} {
		if err := formats[tt.format].Validate(tt.value); (err == nil) != tt.good {
			t.Errorf("%s %q: %v", tt.format, tt.value, err)
		}
	}
}
