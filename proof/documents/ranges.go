// Package documents renders pictures of travel documents of people who do not
// exist, as a phone's camera would take them, and pictures without a
// machine-readable zone. It measures how well the reader does on them. Font,
// backgrounds and ranges are the package's own: the reader's network never saw
// them in training.
package documents

// between is a range from which a value is drawn uniformly.
type between struct{ low, high float64 }

// Ease says how difficult a set of pictures is. The ranges were fixed before
// the reader was trained and are not to be changed to fit it.
type Ease struct {
	Name string

	pitch     between // from one character of the zone to the next, in pixels, if the zone fits into the frame
	tilt      between // of the document out of the picture's plane, degrees
	bend      between // deviation of the middle of a line from straight, mm
	blur      between // standard deviation, pixels
	motion    between // length of the camera's movement during the exposure, pixels
	noise     between // standard deviation, of 255
	ink       between // darkness of the ink, 0 to 1
	guilloche between // contrast of the lines printed under the zone, 0 to 1
	gradient  between // loss of light from one side to the other, 0 to 1
	shadow    float64 // probability that a shadow's edge crosses the document
	glare     between // brightest point of a reflection somewhere on the document, 0 to 1
	quality   between // of the JPEG
}

// Easy, Medium and Hard are the sets of the measurements.
var (
	Easy = Ease{
		Name: "easy", pitch: between{16, 24}, tilt: between{0, 8}, blur: between{0, 0.6}, noise: between{0, 4},
		ink: between{0.8, 1}, guilloche: between{0, 0.06}, gradient: between{0, 0.15}, quality: between{85, 95},
	}
	Medium = Ease{
		Name: "medium", pitch: between{14, 24}, tilt: between{0, 18}, bend: between{0, 1}, blur: between{0.3, 1},
		motion: between{0, 1},
		noise:  between{2, 8}, ink: between{0.7, 1}, guilloche: between{0.03, 0.12}, gradient: between{0, 0.35}, shadow: 0.3,
		glare: between{0, 0.3}, quality: between{70, 90},
	}
	Hard = Ease{
		Name: "hard", pitch: between{12, 22}, tilt: between{0, 28}, bend: between{0, 2}, blur: between{0.5, 1.4},
		motion: between{0, 2.5},
		noise:  between{4, 14}, ink: between{0.55, 0.95}, guilloche: between{0.05, 0.2}, gradient: between{0.1, 0.55},
		shadow: 0.6,
		glare:  between{0.2, 0.8}, quality: between{50, 80},
	}
	Eases = []Ease{Easy, Medium, Hard}
)

// Frame size of every rendered picture, in pixels.
const (
	Width  = 1280
	Height = 960
)
