package vision

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
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

// picture is a decoded frame in the JPEG's own luma and chroma planes. Every crop
// is sampled directly from them, so the frame is never converted as a whole.
type picture struct {
	width, height  int
	luma           []uint8
	blue, red      []uint8 // chroma planes; nil in a grey picture
	lumaStride     int
	chromaStride   int
	shiftX, shiftY uint // how much coarser the chroma planes are, as powers of two
}

// DecodeFrame reads a baseline JPEG of at most MaxFrameBytes, the given number of
// pixels, and the given longer side. For any bytes it fails only with
// ErrFrameTooLarge or ErrBadImage.
func DecodeFrame(data []byte, pixels, side int) (image.Image, error) {
	if len(data) > MaxFrameBytes {
		return nil, ErrFrameTooLarge
	}
	config, err := jpeg.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, ErrBadImage
	}
	if config.Width < 1 || config.Height < 1 {
		return nil, ErrBadImage
	}
	if config.Width > side || config.Height > side || config.Width*config.Height > pixels {
		return nil, ErrFrameTooLarge
	}
	if !singleScan(data) {
		return nil, ErrBadImage
	}
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, ErrBadImage
	}
	return img, nil
}

// decode reads a picture within the limits of a frame, like DecodeFrame.
func decode(data []byte) (*picture, error) {
	decoded, err := DecodeFrame(data, MaxPixels, MaxSide)
	if err != nil {
		return nil, err
	}
	switch img := decoded.(type) {
	case *image.YCbCr:
		return fromYCbCr(img)
	case *image.Gray:
		return &picture{width: img.Rect.Dx(), height: img.Rect.Dy(), luma: img.Pix, lumaStride: img.Stride}, nil
	}
	return nil, ErrBadImage
}

func fromYCbCr(img *image.YCbCr) (*picture, error) {
	p := &picture{
		width: img.Rect.Dx(), height: img.Rect.Dy(),
		luma: img.Y, blue: img.Cb, red: img.Cr,
		lumaStride: img.YStride, chromaStride: img.CStride,
	}
	switch img.SubsampleRatio {
	case image.YCbCrSubsampleRatio444:
	case image.YCbCrSubsampleRatio422:
		p.shiftX = 1
	case image.YCbCrSubsampleRatio420:
		p.shiftX, p.shiftY = 1, 1
	case image.YCbCrSubsampleRatio440:
		p.shiftY = 1
	default:
		return nil, ErrBadImage
	}
	return p, nil
}

// singleScan reports whether the JPEG is sequential with one scan, which is
// what cameras and browsers write. Each further scan of a progressive file
// costs a few bytes and a pass over the whole picture: 1 MiB of them would
// keep a core busy for half a minute. Segment layout: ITU-T T.81, annex B.
//
// This function must see the same segments as the decoder. The decoder skips
// markers without a length, such as restart markers; reading the bytes after such
// a marker as a length would jump over scans. Therefore only markers with a
// length are allowed.
func singleScan(data []byte) bool {
	framed := false
	for at := 2; at+4 <= len(data); {
		if data[at] != 0xff {
			return false
		}
		switch marker := data[at+1]; {
		case marker == 0xff: // padding before a marker
			at++
			continue
		case marker == 0xc0 || marker == 0xc1: // sequential frame
			framed = true
		case marker == 0xda: // scan
			return framed && !bytes.Contains(data[at+2:], []byte{0xff, 0xda})
		case marker == 0xc4 || marker == 0xdb || marker == 0xdd: // Huffman and quantization tables, restart interval
		case marker >= 0xe0 && marker <= 0xef || marker == 0xfe: // application data, comment
		default:
			return false
		}
		at += 2 + int(data[at+2])<<8 + int(data[at+3])
	}
	return false
}
