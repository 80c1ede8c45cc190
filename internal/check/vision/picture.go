package vision

import "image"

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

// decode reads a picture within the limits of a frame, as DecodeFrame does.
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
