package age

import (
	"bytes"
	"errors"
	"testing"

	"agegate/internal/check/vision"
)

func TestParseFrame(t *testing.T) {
	header := append(bytes.Repeat([]byte{9}, 16), 0, 0, 1, 2)
	rows := []struct {
		name    string
		message []byte
		want    error
	}{
		{"frame", append(bytes.Clone(header), 0xff), nil},
		{"largest", append(bytes.Clone(header), make([]byte, vision.MaxFrameBytes)...), nil},
		{"empty", nil, ErrMalformedFrame},
		{"header without image", header, ErrMalformedFrame},
		{"over the limit", append(bytes.Clone(header), make([]byte, vision.MaxFrameBytes+1)...), vision.ErrFrameTooLarge},
	}
	for _, row := range rows {
		f, err := ParseFrame(row.message)
		if !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if err == nil && (f.Seq != 0x0102 || f.Nonce[0] != 9 || len(f.JPEG) != len(row.message)-FrameHeaderBytes) {
			t.Errorf("%s: read as %d, %d bytes of image", row.name, f.Seq, len(f.JPEG))
		}
	}
}

// FuzzParseFrame: for any message, parsing does not panic, accepts nothing over
// the limit, and fails only with an error of this package.
func FuzzParseFrame(f *testing.F) {
	f.Fuzz(func(t *testing.T, message []byte) {
		frame, err := ParseFrame(message)
		if err != nil {
			if !errors.Is(err, ErrMalformedFrame) && !errors.Is(err, vision.ErrFrameTooLarge) {
				t.Fatalf("unexpected error %v", err)
			}
			return
		}
		if n := len(frame.JPEG); n == 0 || n > vision.MaxFrameBytes || n != len(message)-FrameHeaderBytes {
			t.Fatalf("%d bytes of image out of %d", n, len(message))
		}
	})
}
