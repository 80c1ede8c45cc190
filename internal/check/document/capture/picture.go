package capture

import (
	"image"
	"slices"

	"agegate/internal/check/document/reader"
)

// Limits of a picture that can be read.
const (
	minPitch = 11.0  // from a character of the zone to the next, pixels
	maxPitch = 40.0  //
	minLight = 45.0  // mean luma of the frame's middle, 0 to 255
	glaring  = 250   // luma from which a camera is saturated
	maxGlare = 0.04  // share of the frame's middle that is glaring
	minSharp = 0.012 // see sharpness

	minHidden = 4 // characters of the zone that something hides; fewer may be misprinted
)

// trouble returns the likely reason why no zone could be read in a picture.
func trouble(img *image.Gray, r reader.Reading) Hint {
	light, glare, sharp := surface(img)
	switch {
	case light < minLight:
		return Dark
	case r.Finding == reader.NothingFound && glare > maxGlare:
		return Glare
	case r.Finding != reader.NothingFound && r.Pitch < minPitch:
		return Closer
	case r.Finding != reader.NothingFound && r.Pitch > maxPitch:
		return Further
	case sharp < minSharp:
		return Blurred
	case r.Finding == reader.NothingFound:
		return ShowZone
	case glare > maxGlare:
		return Glare
	case r.Part != nil && len(r.Part.Hidden) >= minHidden:
		return hidden(img, r.Part)
	}
	return HoldStill
}

// hidden returns what hides characters of the zone: light, or something else such as a finger.
func hidden(img *image.Gray, part *reader.Part) Hint {
	bright := 0
	for _, p := range part.Hidden {
		at := image.Pt(int(p.X), int(p.Y))
		if at.In(img.Rect) && img.GrayAt(at.X, at.Y).Y >= glaring {
			bright++
		}
	}
	if 2*bright >= len(part.Hidden) {
		return ZoneGlare
	}
	return ZoneCovered
}

// leaves reports whether a part of the zone lies outside the picture.
func leaves(corners [4]reader.Point, size image.Point) bool {
	return slices.ContainsFunc(corners[:], func(p reader.Point) bool {
		return p.X < 0 || p.Y < 0 || p.X > float64(size.X) || p.Y > float64(size.Y)
	})
}

// surface measures the middle of a picture: half of its width and of its height. It returns the mean luma, the share of
// glaring pixels, and the sharpness, which is the mean square of the Laplacian, divided by the variance.
func surface(img *image.Gray) (light, glare, sharp float64) {
	size := img.Rect.Size()
	const margin = 4 // a quarter on each side
	var n, sum, squares, laplacian, bright float64
	for y := max(size.Y/margin, 1); y < size.Y-max(size.Y/margin, 1); y += 2 {
		row := img.Pix[y*img.Stride:]
		above, below := img.Pix[(y-1)*img.Stride:], img.Pix[(y+1)*img.Stride:]
		for x := max(size.X/margin, 1); x < size.X-max(size.X/margin, 1); x += 2 {
			v := float64(row[x])
			n++
			sum += v
			squares += v * v
			l := float64(row[x-1]) + float64(row[x+1]) + float64(above[x]) + float64(below[x]) - 4*v
			laplacian += l * l
			if v >= glaring {
				bright++
			}
		}
	}
	if n == 0 {
		return 0, 0, 0
	}
	mean := sum / n
	return mean, bright / n, laplacian / n / max(squares/n-mean*mean, 1)
}
