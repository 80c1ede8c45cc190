package inference

import "context"

// Lengths of the age model's outputs.
const (
	AgeBins        = 100  // whole ages distinguished, from 0
	DescriptorSize = 1024 // of the face descriptor
	IdentitySize   = 128  // of the matcher's descriptor
	// MapSize is the length of its output "map", the input of a tail: 512
	// channels of 14 rows of 14 cells, 0 to 6.
	MapSize = 512 * 14 * 14
)

// Model is the role of a neural network in the pipeline. The manifest says
// which file fills it.
type Model string

// The roles that a models directory fills; see Outputs for the names and lengths
// of their outputs. Tail, Front and Matcher may stay empty. A manifest may list
// further roles.
const (
	// Detector finds faces, as BlazeFace does (MediaPipe, full-range model).
	Detector Model = "detector"
	// Mesh places 468 landmarks on an upright face crop (MediaPipe Face Mesh).
	Mesh Model = "mesh"
	// Ager gives a distribution over ages 0 to 99 and a descriptor of the face.
	Ager Model = "age"
	// Tail gives a second distribution over ages, fine-tuned on labelled faces,
	// from the feature map that the age model's first six blocks make.
	Tail Model = "tail"
	// Front is the age model in eight bits, without its distribution. It takes a third
	// of the work for nearly the same descriptor and map. If a tail has a front, the
	// front processes the faces of captures in place of the age model.
	Front Model = "front"
	// Second estimates the age independently of the other models: another network,
	// trained by other people.
	Second Model = "second"
	// Matcher gives a second descriptor of a face, for comparing the face with a
	// document's portrait. Its input is an aligned face, as for dlib's recognition
	// model.
	Matcher Model = "matcher"
	// Antispoof scores how little a face crop looks computer-made or printed.
	Antispoof Model = "antispoof"
	// Liveness scores how little a face crop looks recorded from a screen.
	Liveness Model = "liveness"
)

// Outputs lists, by role, the outputs a model must have and the number of values
// in each. A manifest may name further outputs.
var Outputs = map[Model]map[string]int{
	Detector: {
		"fine_scores":   512,      // logits; two anchors in each cell of a 16×16 grid
		"fine_boxes":    512 * 16, // centre x, y, width, height, six key points; input pixels from the anchor
		"coarse_scores": 384,      // logits; six anchors in each cell of an 8×8 grid
		"coarse_boxes":  384 * 16,
	},
	Mesh: {
		"points":   468 * 3, // x, y, z in input pixels, z falling towards the camera
		"presence": 1,       // probability that the crop shows a face
	},
	Ager: {
		"distribution": AgeBins,        // probability of each whole age
		"descriptor":   DescriptorSize, // input of the comparison of faces
	},
	Tail:      {"distribution": AgeBins},
	Front:     {"descriptor": DescriptorSize, "map": MapSize},
	Second:    {"years": 1},
	Matcher:   {"descriptor": IdentitySize}, // nearer for the same face
	Antispoof: {"real": 1},                  // probability
	Liveness:  {"live": 2},                  // probability of live, then of not live
}

// Input says how a picture becomes a model's input tensor. The tensor has three planes:
// red, green and blue, of Height rows of Width values. A value is pixel × Scale +
// Offset, with pixels from 0 to 255.
type Input struct {
	Width  int     `json:"width"`
	Height int     `json:"height"`
	Scale  float32 `json:"scale"`
	Offset float32 `json:"offset"`
}

// Models lends out complete sets of the models, one set for each worker.
type Models interface {
	// Acquire waits until a worker is free. It fails only when ctx ends before
	// one is, or after the models were closed.
	Acquire(ctx context.Context) (Worker, error)
}

// Worker is one set of models, for one goroutine at a time.
type Worker interface {
	// Has reports whether the role is filled; all roles except Tail, Front and Matcher
	// always are.
	Has(m Model) bool
	// Input returns the model's input format and the buffer to fill before Run. The
	// tail has no format: its input is the "map" of the front or, without a front, of
	// the age model.
	Input(m Model) (Input, []float32)
	// Run computes the model's outputs from its input buffer.
	Run(m Model) error
	// Output returns a result of the latest Run; the next Run overwrites it.
	Output(m Model, name string) []float32
	// Release gives the worker back; it must not be used afterwards.
	Release()
}
