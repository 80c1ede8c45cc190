package vision

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"

	"github.com/gen2brain/jpegn"
)

// Limits of one frame.
const (
	// MaxFrameBytes is the maximum size of a frame's JPEG, in bytes.
	MaxFrameBytes = 1 << 20
	// MaxPixels is the maximum number of pixels of a frame. Pages usually send
	// 0.3 megapixels, at most 640 columns. A frame of the maximum size full of
	// noise costs twice as much as a usual one, which limits how much a hostile
	// page can delay others' frames.
	MaxPixels = 1_000_000
	// MaxSide is the maximum width and height of a frame, in pixels.
	MaxSide = 1600
)

// ErrFrameTooLarge reports a frame that exceeds MaxFrameBytes, MaxPixels or
// MaxSide. It is found before the picture is decoded.
var ErrFrameTooLarge = errors.New("the frame is larger than allowed")

// ErrBadImage reports a frame that is not a JPEG that the pipeline can read:
// damaged, progressive or in an unusual colour space. Analyze turns it into
// guidance.
var ErrBadImage = errors.New("the image cannot be read")

// DecodeFrame reads a baseline JPEG and returns an *image.YCbCr or *image.Gray. The
// JPEG may have at most MaxFrameBytes, the given number of pixels, and the given longer
// side. For any bytes, DecodeFrame fails only with ErrFrameTooLarge or ErrBadImage.
// Where the compressed data is damaged, the picture may have wrong or missing parts.
func DecodeFrame(data []byte, pixels, side int) (image.Image, error) {
	if len(data) > MaxFrameBytes {
		return nil, ErrFrameTooLarge
	}
	h, ok := readHeader(data)
	if !ok {
		return nil, ErrBadImage
	}
	if h.width > side || h.height > side || h.width*h.height > pixels {
		return nil, ErrFrameTooLarge
	}
	img, err := jpegn.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, ErrBadImage
	}
	return img, nil
}

// header is the description of a picture in a JPEG's segments.
type header struct{ width, height int }

// Markers of a JPEG. ITU-T T.81, table B.1.
const (
	markerBaseline = 0xc0 // sequential frame
	markerExtended = 0xc1 // the same with more tables
	markerHuffman  = 0xc4
	markerStart    = 0xd8
	markerEnd      = 0xd9
	markerScan     = 0xda
	markerQuantum  = 0xdb // quantization tables
	markerRestarts = 0xdd
	markerApp0     = 0xe0 // application data, to markerApp15
	markerAdobe    = 0xee
	markerApp15    = 0xef
	markerComment  = 0xfe
)

// readHeader reads the segments up to the compressed data. It reports whether the JPEG
// is complete and sequential, has one scan, and is in luma and chroma or only luma.
// Cameras and browsers write such files. A further scan of a progressive file takes
// only a few bytes but costs a pass over the whole picture: 1 MiB of them would keep a
// core busy for half a minute. Segment layout: ITU-T T.81, annex B.
//
// This function must see the same segments as the decoder. The decoder skips markers
// without a length, such as restart markers. If readHeader took the bytes after such a
// marker for a length, it would jump over scans. Therefore it allows only markers with
// a length.
func readHeader(data []byte) (h header, ok bool) {
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker := data[at+1]
		if marker == 0xff { // padding before a marker
			at++
			continue
		}
		end := at + 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		if end < at+4 || end > len(data) {
			return h, false
		}
		if marker == markerScan {
			rest := data[end:]
			return h, h.width > 0 && bytes.Contains(rest, []byte{0xff, markerEnd}) &&
				!bytes.Contains(rest, []byte{0xff, markerScan})
		}
		if !h.read(marker, data[at+4:end]) {
			return h, false
		}
		at = end
	}
	return h, false
}

// read reads a segment before the scan. It reports whether the segment is allowed
// there.
func (h *header) read(marker byte, segment []byte) bool {
	switch marker {
	case markerBaseline, markerExtended:
		return h.width == 0 && h.readFrame(segment)
	case markerAdobe:
		inColours := len(segment) >= 12 && bytes.HasPrefix(segment, []byte("Adobe")) && segment[11] != 1 // RGB, or of print
		return !inColours
	case markerHuffman, markerQuantum, markerRestarts, markerComment:
		return true
	}
	return marker >= markerApp0 && marker <= markerApp15
}

// readFrame reads a frame's segment: precision, height, width, number of
// components, and three bytes for each: name, sampling factors, table.
func (h *header) readFrame(segment []byte) bool {
	if len(segment) < 6 || len(segment) != 6+3*int(segment[5]) {
		return false
	}
	h.height, h.width = int(binary.BigEndian.Uint16(segment[1:])), int(binary.BigEndian.Uint16(segment[3:]))
	if h.width == 0 || h.height == 0 {
		return false
	}
	switch parts := segment[6:]; len(parts) {
	case 3:
		return true
	case 9:
		names, luma := string([]byte{parts[0], parts[3], parts[6]}), parts[1]
		return names != "RGB" && parts[4] == 0x11 && parts[7] == 0x11 &&
			(luma == 0x11 || luma == 0x12 || luma == 0x21 || luma == 0x22)
	}
	return false
}
