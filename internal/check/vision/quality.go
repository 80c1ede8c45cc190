package vision

import "math"

// Guidance asks the person in front of the camera to change something.
type Guidance string

// The guidance that a frame can give. Only one problem is named at a time. The order is
// the following, because the first ones hide the others.
const (
	GuidanceOK           Guidance = "ok"
	GuidanceBadImage     Guidance = "bad_image"
	GuidanceNoFace       Guidance = "no_face"
	GuidanceSeveralFaces Guidance = "several_faces"
	GuidanceTooFar       Guidance = "too_far"
	GuidanceTooClose     Guidance = "too_close"
	GuidanceOffCenter    Guidance = "off_center"
	GuidanceTooDark      Guidance = "too_dark"
	GuidanceTooBright    Guidance = "too_bright"
	GuidanceCovered      Guidance = "covered"
	GuidanceTurnedAway   Guidance = "turned_away"
	GuidanceChinRaised   Guidance = "chin_raised"
	GuidanceChinLowered  Guidance = "chin_lowered"
	GuidanceBlurred      Guidance = "blurred"
	GuidanceHoldStill    Guidance = "hold_still"
)

// Limits of a good frame.
const (
	minFacePixels = 80.0 // box width of a frame that counts; below, the age model's input is mostly interpolation
	minSeenPixels = 48.0 // box width of any frame; below, the landmarks are unsteady
	minFaceScale  = 0.20 // box width over the frame's shorter side: about an arm and a half away
	maxFaceScale  = 0.85 // above, chin or forehead leave the frame
	maxOffCenter  = 0.25 // distance of the box centre from the frame's, over the frame's side
	bystander     = 0.4  // a second face this large next to the first counts as a person
	minBrightness = 30.0 // mean luma of the face, 0 to 255, see below
	maxBrightness = 225.0
	minWarmth     = 0.25 // see warmth and below
	minPresence   = 0.5  // the mesh model's own boundary between face and no face
	maxYaw        = 25.0 // degrees; the age model saw mostly frontal faces
	maxPitch      = 25.0
	maxRoll       = 35.0
)

// Beyond these limits, the estimates for 67 people of 13 to 17 (pictures of UTKFace)
// were more than a year too high on average: by 1.6 years with dark glasses, 1.8 with
// overexposure, 2.1 with noise. The limits refuse 2 of 1,601 unaltered pictures; the
// limit of blur refuses 14 more. Blur within its limit already adds 0.9 years.
const (
	minEyeLight  = 0.25  // see eyeLight
	maxGlare     = 0.1   // see Surface
	minSharpness = 0.008 // see detail; corresponds to a face that is about 40 pixels wide
	maxSharpness = 2.0   // above, it is noise
)

// The lower limits of brightness and warmth were measured on 572 pictures (UTKFace).
// For 254 of them, an estimate by a model that was not trained on them is known. A
// dense beard drawn over the upper lip has a warmth of 0.23 to 0.68 (1st to 90th
// percentile) and moves the estimate of teenagers by 0.6 years. Of 100 masks drawn in
// seven colours, 87 score less than 0.25. Masks make people look younger, so they let
// nobody pass. In dim light, faces with a brightness between 30 and 40 are estimated a
// year lower than in good light, and faces below 30 four years higher. A limit of 40
// refused 23 % of the faces labelled Black and 4 % of the others; 30 refuses 5 % and 1
// %.

// Limits of a picture whose age estimate is trusted, see Doubtful. In another
// collection, 20 % of the 13- to 17-year-olds passed on grey scans, and only 8 % on
// sharp colour pictures.
const (
	greyColour    = 4.0   // see colour
	softSharpness = 0.012 // see Surface; 2 in 100 of UTKFace
)

// Doubtful reports whether the age estimate of the picture may be poor, because the
// picture is grey, or so soft that the skin shows no structure.
func (o *Observation) Doubtful() bool {
	return o.Guidance == GuidanceOK && (o.Colour < greyColour || o.Sharpness < softSharpness)
}

// framing judges the number of faces and the place of the first one.
func framing(faces []Face, width, height int) Guidance {
	if len(faces) == 0 {
		return GuidanceNoFace
	}
	f := faces[0]
	if len(faces) > 1 && faces[1].Width >= bystander*f.Width {
		return GuidanceSeveralFaces
	}
	scale := f.Width / float64(min(width, height))
	switch {
	case scale < minFaceScale || f.Width < minSeenPixels:
		return GuidanceTooFar
	case scale > maxFaceScale:
		return GuidanceTooClose
	case math.Abs(f.X/float64(width)-0.5) > maxOffCenter || math.Abs(f.Y/float64(height)-0.5) > maxOffCenter:
		return GuidanceOffCenter
	}
	return GuidanceOK
}

// lighting judges the face's brightness.
func (s Surface) lighting() Guidance {
	switch {
	case s.Brightness < minBrightness:
		return GuidanceTooDark
	case s.Brightness > maxBrightness || s.Glare > maxGlare:
		return GuidanceTooBright
	}
	return GuidanceOK
}

// texture judges whether the structure of the skin is visible. If there is noise, there
// is too little light.
func (s Surface) texture() Guidance {
	switch {
	case s.Sharpness < minSharpness:
		return GuidanceBlurred
	case s.Sharpness > maxSharpness:
		return GuidanceTooDark
	}
	return GuidanceOK
}

// cover judges whether the face is covered.
func cover(presence, warmth, eyeLight float64) Guidance {
	if presence < minPresence || warmth < minWarmth || eyeLight < minEyeLight {
		return GuidanceCovered
	}
	return GuidanceOK
}

// attitude judges whether the face looks into the camera.
func attitude(pose Pose) Guidance {
	switch {
	case math.Abs(pose.Yaw) > maxYaw || math.Abs(pose.Roll) > maxRoll:
		return GuidanceTurnedAway
	case pose.Pitch > maxPitch:
		return GuidanceChinRaised
	case pose.Pitch < -maxPitch:
		return GuidanceChinLowered
	}
	return GuidanceOK
}

// surfaceSize is the side of the grey sample from which brightness and sharpness
// are measured.
const surfaceSize = 96

// Surface describes how the inner face looks in the picture.
type Surface struct {
	Brightness float64 // mean luma, 0 to 255
	Glare      float64 // share that is as bright as a camera can show
	Sharpness  float64 // fine structure over contrast, see detail
}

// glaring is the luma from which a camera is saturated.
const glaring = 250

func surface(p *picture, c crop) Surface {
	grey := p.grey(c.part(0.25, 0.25, 0.75, 0.75, surfaceSize, surfaceSize))
	mean, variance := moments(grey)
	glare := 0
	for _, v := range grey {
		if v >= glaring {
			glare++
		}
	}
	return Surface{
		Brightness: mean, Glare: float64(glare) / float64(len(grey)),
		Sharpness: detail(grey) / max(variance, 1),
	}
}

// detail returns the mean square of the Laplacian (four neighbours). Divided by the
// variance of the picture, it is the share of fine structure in the contrast, which
// does not depend on light or skin.
func detail(grey []float32) float64 {
	var sum float64
	for y := 1; y < surfaceSize-1; y++ {
		for x := 1; x < surfaceSize-1; x++ {
			i := y*surfaceSize + x
			d := grey[i-1] + grey[i+1] + grey[i-surfaceSize] + grey[i+surfaceSize] - 4*grey[i]
			sum += float64(d * d)
		}
	}
	return sum / ((surfaceSize - 2) * (surfaceSize - 2))
}

func moments(values []float32) (mean, variance float64) {
	for _, v := range values {
		mean += float64(v)
	}
	mean /= float64(len(values))
	for _, v := range values {
		variance += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, variance / float64(len(values))
}
