package reader

import (
	"image"
)

// blob is a connected patch of ink.
type blob struct {
	x, y float64 // middle of its box, pixels
	size float64 // longer side of its box
	area float64 // in pixels
}

// Limits for a patch that can be a character, in pixels.
const (
	minSize = 6
	maxSize = 64
	minArea = 8
)

// maxBlobs bounds the cost of a picture full of texture.
const maxBlobs = 6000

// findBlobs returns the patches of ink in the picture that can be characters. Their
// pixels are darker than their neighbourhood of the given radius, and each is connected
// to one of its eight neighbours.
func findBlobs(img *image.Gray, radius int) []blob {
	dark := darker(img, radius)
	return components(dark, img.Rect.Dx(), img.Rect.Dy())
}

// darker marks the pixels that are clearly darker than the mean around them. The
// picture is slightly smoothed first, which removes most of the noise.
func darker(img *image.Gray, radius int) []bool {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	smooth := soften(img)
	// sums[(y+1)*(w+1)+x+1] is the sum over the rectangle from the upper left corner to
	// x, y.
	sums := make([]uint32, (w+1)*(h+1))
	for y := range h {
		var row uint32
		above, here := sums[y*(w+1):(y+1)*(w+1)], sums[(y+1)*(w+1):(y+2)*(w+1)]
		for x, v := range smooth[y*w : (y+1)*w] {
			row += uint32(v)
			here[x+1] = above[x+1] + row
		}
	}
	const contrast, share = 6, 14 // a dark pixel is below the mean by at least this many levels and by this fraction
	dark := make([]bool, w*h)
	for y := range h {
		top, bottom := max(y-radius, 0), min(y+radius+1, h)
		upper, lower := sums[top*(w+1):], sums[bottom*(w+1):]
		for x := range w {
			left, right := max(x-radius, 0), min(x+radius+1, w)
			mean := int(lower[right]-lower[left]-upper[right]+upper[left]) / ((right - left) * (bottom - top))
			dark[y*w+x] = int(smooth[y*w+x])+max(contrast, mean/share) < mean
		}
	}
	return dark
}

// soften applies a binomial filter of three by three pixels.
func soften(img *image.Gray) []uint8 {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	rows := make([]uint16, w*h)
	for y := range h {
		line := img.Pix[y*img.Stride : y*img.Stride+w]
		for x, v := range line {
			rows[y*w+x] = uint16(line[max(x-1, 0)]) + 2*uint16(v) + uint16(line[min(x+1, w-1)])
		}
	}
	out := make([]uint8, w*h)
	for y := range h {
		above := rows[max(y-1, 0)*w:]
		here := rows[y*w:]
		below := rows[min(y+1, h-1)*w:]
		for x := range w {
			out[y*w+x] = uint8((above[x] + 2*here[x] + below[x]) / 16) //nolint:gosec // a mean of bytes
		}
	}
	return out
}

// components returns the patches of dark pixels that have the size of characters. It
// clears the pixels.
func components(dark []bool, w, h int) []blob {
	var blobs []blob
	var edge []int // pixels of a patch whose neighbours were not looked at yet
	for first, ink := range dark {
		if !ink {
			continue
		}
		dark[first] = false
		edge = append(edge[:0], first)
		left, right, top, bottom, area := w, 0, h, 0, 0
		for ; len(edge) > 0; area++ {
			at := edge[len(edge)-1]
			edge = edge[:len(edge)-1]
			x, y := at%w, at/w
			left, right, top, bottom = min(left, x), max(right, x+1), min(top, y), max(bottom, y+1)
			for row := max(y-1, 0); row < min(y+2, h); row++ {
				for next := row*w + max(x-1, 0); next < row*w+min(x+2, w); next++ {
					if dark[next] {
						dark[next] = false
						edge = append(edge, next)
					}
				}
			}
		}
		size := max(right-left, bottom-top)
		if size >= minSize && size <= maxSize && area >= minArea && len(blobs) < maxBlobs {
			blobs = append(blobs, blob{float64(left+right) / 2, float64(top+bottom) / 2, float64(size), float64(area)})
		}
	}
	return blobs
}
