package vision

import (
	"context"
	"errors"
	"math"

	"agegate/internal/check/inference"
)

// Observation is the result of analysing one frame. Guidance says whether the frame can
// be used. The fields after it are set as far as the analysis got.
type Observation struct {
	Guidance      Guidance
	Width, Height int  // of the frame, in pixels
	Face          Face // the largest; zero when there is none
	Pose          Pose
	Landmarks     []Point // 468, MediaPipe's canonical mesh; nil when there is not exactly one face
	Presence      float64 // the mesh model's probability of a face
	Warmth        float64 // redness of the lips relative to the skin, see warmth
	EyeLight      float64 // luma of the eyes divided by that of the skin, see eyeLight
	Colour        float64 // of the skin, see colour
	Scale         float64 // face width over the frame's shorter side
	Surface               // of the inner face
	Real, Live    float64 // passive scores, 0 to 1; set by Score
	Raster        float64 // how much a regular pattern stands out, see raster; set by Score
	Eyes          *Eyes   // the eyes alone
	Grain         *Grain  // single pixels of the picture, for recognizing it again

	picture  *picture
	crop     crop
	anchor   *anchor // the detection that crop comes from
	followed int     // frames since that detection
}

// Place returns the middle of the face, relative to the middle of the frame, and the
// width of the face. Both are computed from the landmarks, in units of the frame's
// shorter side, so that they do not depend on the size of the frame. The detector's box
// is not used, because it jumps when a turned face is detected again.
func (o *Observation) Place() (x, y, width float64) {
	n, side := float64(len(o.Landmarks)), float64(min(o.Width, o.Height))
	for _, p := range o.Landmarks {
		x, y = x+p.X/n, y+p.Y/n
	}
	for _, p := range o.Landmarks {
		width += ((p.X-x)*(p.X-x) + (p.Y-y)*(p.Y-y)) / n
	}
	// The width of a disc is this times the root mean square of its points' distances
	// from the middle.
	const ofDisc = 2 * math.Sqrt2
	return (x - float64(o.Width)/2) / side, (y - float64(o.Height)/2) / side, ofDisc * math.Sqrt(width) / side
}

// sameFormat is the largest difference in aspect ratio, as a share, between two frames
// of one format. Their ratios differ slightly in different sizes, because sides are
// whole numbers of pixels.
const sameFormat = 0.02

// HasFormatOf reports whether the frame has the aspect ratio of another frame. The
// ratio changes when somebody turns the phone.
func (o *Observation) HasFormatOf(other *Observation) bool {
	a, b := float64(o.Width*other.Height), float64(o.Height*other.Width)
	return math.Abs(a-b) <= sameFormat*b
}

// Resolved reports whether the face has enough pixels for an age estimate.
func (o *Observation) Resolved() bool { return o.Face.Width >= minFacePixels }

// Analyzer looks at single frames. It keeps nothing between calls and may be
// used by many captures at once.
type Analyzer interface {
	// Analyze looks at one frame. It fails with ErrFrameTooLarge, with ctx's
	// error while waiting for a worker, or because a model failed; an
	// unreadable image is an observation with GuidanceBadImage.
	Analyze(ctx context.Context, jpeg []byte) (*Observation, error)
	// Follow is like Analyze, for the frame after last from the same camera. It looks
	// for the face where it was, which costs less than detection. It detects the face
	// if it is not found there, if last is nil or has no face, and every few frames. It
	// accepts faces that are not Resolved, because frames that only guide may be small.
	Follow(ctx context.Context, jpeg []byte, last *Observation) (*Observation, error)
	// Score measures the passive scores of an observation that has a face.
	Score(ctx context.Context, o *Observation) error
	// Features computes the input of the age estimate, Whole and Tuned, for an
	// observation that has a face. It costs more than everything else together,
	// so call it only for the frames that count, and Describe for others.
	Features(ctx context.Context, o *Observation) (*Features, error)
	// Describe computes only the descriptor of Whole, for recognizing the person of
	// an observation that has a face. It costs half of Features.
	Describe(ctx context.Context, o *Observation) (*Features, error)
	// Views computes the input for comparing a face with a document's portrait,
	// Whole and Identity, for an observation that has a face.
	Views(ctx context.Context, o *Observation) (*Features, error)
}

// NewAnalyzer returns the analyzer that runs the given models.
func NewAnalyzer(models inference.Models) Analyzer { return &analyzer{models} }

type analyzer struct{ models inference.Models }

func (a *analyzer) Analyze(ctx context.Context, jpeg []byte) (*Observation, error) {
	o, err := a.Follow(ctx, jpeg, nil)
	if err == nil && o.Guidance == GuidanceOK && !o.Resolved() {
		o.Guidance = GuidanceTooFar
	}
	return o, err
}

func (a *analyzer) Follow(ctx context.Context, jpeg []byte, last *Observation) (*Observation, error) {
	w, err := a.models.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer w.Release()
	p, err := decode(jpeg) // decoded while holding the worker, so that decoding is limited too
	if errors.Is(err, ErrBadImage) {
		return &Observation{Guidance: GuidanceBadImage}, nil
	} else if err != nil {
		return nil, err
	}
	o := &Observation{Width: p.width, Height: p.height, picture: p, Grain: p.grain()}
	return o, o.look(w, last)
}

func (a *analyzer) Score(ctx context.Context, o *Observation) error {
	w, err := a.models.Acquire(ctx)
	if err != nil {
		return err
	}
	defer w.Release()
	o.Raster = o.picture.raster(o.crop)
	if o.Real, err = score(w, o.picture, o.crop, inference.Antispoof, "real"); err != nil {
		return err
	}
	o.Live, err = score(w, o.picture, o.crop, inference.Liveness, "live")
	return err
}

func (a *analyzer) Features(ctx context.Context, o *Observation) (*Features, error) {
	return a.run(ctx, o, features)
}

func (a *analyzer) Describe(ctx context.Context, o *Observation) (*Features, error) {
	return a.run(ctx, o, described)
}

func (a *analyzer) Views(ctx context.Context, o *Observation) (*Features, error) {
	return a.run(ctx, o, views)
}

func (a *analyzer) run(
	ctx context.Context, o *Observation, of func(inference.Worker, *Observation) (*Features, error),
) (*Features, error) {
	w, err := a.models.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer w.Release()
	return of(w, o)
}

// Comparing returns an analyzer whose Features and Describe return the Views of a. It
// is for captures of a face that is compared with a document's portrait, and whose age
// is not used.
func Comparing(a Analyzer) Analyzer { return comparing{a} }

type comparing struct{ Analyzer }

func (c comparing) Describe(ctx context.Context, o *Observation) (*Features, error) {
	return c.Views(ctx, o)
}

func (c comparing) Features(ctx context.Context, o *Observation) (*Features, error) {
	return c.Views(ctx, o)
}

// look fills the observation, and stops at the first problem that makes the
// remaining values meaningless.
func (o *Observation) look(w inference.Worker, last *Observation) error {
	found, err := o.follow(w, last)
	if err == nil && !found {
		found, err = o.detect(w)
	}
	if err != nil || !found {
		return err
	}
	o.Scale = o.Face.Width / float64(min(o.Width, o.Height))
	o.Surface = surface(o.picture, o.crop)
	o.Eyes = o.picture.eyes(o.Landmarks)
	o.Warmth = o.picture.warmth(o.Landmarks, o.Face.Width)
	o.Colour = o.picture.colour(o.Landmarks, o.Face.Width)
	o.EyeLight = o.picture.eyeLight(o.Landmarks, o.Eyes, o.Face.Width)
	o.Guidance = first(o.Guidance, o.lighting(), cover(o.Presence, o.Warmth, o.EyeLight), attitude(o.Pose), o.texture())
	return nil
}

// detect finds the face anywhere in the picture and reports whether there is
// exactly one.
func (o *Observation) detect(w inference.Worker) (found bool, err error) {
	faces, err := detect(w, o.picture)
	if err == nil && len(faces) > 1 {
		faces, err = confirmed(w, o.picture, faces)
	}
	if err != nil {
		return false, err
	}
	o.Guidance = framing(faces, o.Width, o.Height)
	if o.Guidance == GuidanceNoFace || o.Guidance == GuidanceSeveralFaces {
		return false, nil
	}
	o.Face, o.crop = faces[0], faces[0].crop()
	o.Landmarks, o.Pose, o.Presence, err = landmarks(w, o.picture, o.crop)
	o.anchor, o.followed = &anchor{o.Face, o.crop, o.Landmarks, o.Pose}, 0
	return true, err
}

// first returns the first problem, or GuidanceOK.
func first(judgements ...Guidance) Guidance {
	for _, g := range judgements {
		if g != GuidanceOK {
			return g
		}
	}
	return GuidanceOK
}

// score runs a passive model on the crop and returns its first value.
func score(w inference.Worker, p *picture, c crop, m inference.Model, output string) (float64, error) {
	in, tensor := w.Input(m)
	p.fill(c.part(0, 0, 1, 1, in.Width, in.Height), in, tensor)
	if err := w.Run(m); err != nil {
		return 0, err
	}
	return float64(w.Output(m, output)[0]), nil
}
