package main

import (
	"agegate/internal/check/inference"
	"agegate/internal/tools/tfjs"
)

// The npm packages that the models come from.
const (
	human   = "@vladmandic/human"
	faceAPI = "@vladmandic/face-api"
)

// model describes how one model of a package is used.
type model struct {
	name    string // of the ONNX file
	from    string // npm package
	path    string // in the package
	load    func(path string) (*tfjs.Graph, error)
	input   inference.Input
	outputs []output
	origin  string
	licence string
}

type output struct {
	tfjs.Output
	meaning string
}

// models has an entry for every role. Inputs are scaled as in each model's
// training. The gender output of faceres and the contours of facemesh are left
// out, because nothing here uses them.
var models = map[inference.Model]model{
	inference.Detector: {
		name:  "blazeface",
		from:  human,
		path:  "models/blazeface.json",
		load:  tfjs.Load,
		input: inference.Input{Width: 256, Height: 256, Scale: 1 / 127.5, Offset: -1},
		outputs: []output{
			{tfjs.Output{Node: "Identity", Name: "fine_scores", Shape: []int64{1, 512, 1}},
				"face logit by anchor, 16×16 cells of two"},
			{tfjs.Output{Node: "Identity_2", Name: "fine_boxes", Shape: []int64{1, 512, 16}},
				"box and six key points by anchor, in input pixels from its centre"},
			{tfjs.Output{Node: "Identity_1", Name: "coarse_scores", Shape: []int64{1, 384, 1}},
				"face logit by anchor, 8×8 cells of six"},
			{tfjs.Output{Node: "Identity_3", Name: "coarse_boxes", Shape: []int64{1, 384, 16}},
				"box and six key points by anchor, in input pixels from its centre"},
		},
		origin:  "https://github.com/google/mediapipe (BlazeFace, back camera)",
		licence: "Apache-2.0",
	},
	inference.Mesh: {
		name:  "facemesh",
		from:  human,
		path:  "models/facemesh.json",
		load:  tfjs.Load,
		input: inference.Input{Width: 192, Height: 192, Scale: 1.0 / 255},
		outputs: []output{
			{tfjs.Output{Node: "Identity_2", Name: "points", Shape: []int64{1, 1404}}, "468 landmarks: x, y, z in input pixels"},
			{tfjs.Output{Node: "Identity_1", Name: "presence", Shape: []int64{1, 1}}, "probability that the crop shows a face"},
		},
		origin:  "https://github.com/google/mediapipe (Face Mesh)",
		licence: "Apache-2.0",
	},
	inference.Ager: {
		name:  "faceres",
		from:  human,
		path:  "models/faceres.json",
		load:  tfjs.Load,
		input: inference.Input{Width: 224, Height: 224, Scale: 1},
		outputs: []output{
			{tfjs.Output{Node: "age_pred/Softmax", Name: "distribution", Shape: []int64{1, 100}},
				"probability of each age from 0 to 99"},
			{tfjs.Output{Node: "global_pooling/Mean", Name: "descriptor", Shape: []int64{1, 1024}}, "face descriptor"},
			{tfjs.Output{Node: "conv_pw_6_relu/clip_by_value", Name: "map", Shape: []int64{1, 512, 14, 14}},
				"feature map of block 6 of 13, channels first, 0 to 6"},
		},
		origin:  "https://github.com/HSE-asavchenko/HSE_FaceRec_tf",
		licence: "MIT as distributed; see NOTICE",
	},
	inference.Second: {
		name:    "agesecond",
		from:    faceAPI,
		path:    "model/age_gender_model-weights_manifest.json",
		load:    secondGraph,
		input:   inference.Input{Width: 112, Height: 112, Scale: 1},
		outputs: []output{{tfjs.Output{Node: "age", Name: "years", Shape: []int64{1, 1}}, "age in years"}},
		origin:  "https://github.com/justadudewhohacks/face-api.js",
		licence: "MIT as distributed; see NOTICE",
	},
	inference.Matcher: {
		name:  "facematch",
		from:  faceAPI,
		path:  "model/face_recognition_model-weights_manifest.json",
		load:  matcherGraph,
		input: inference.Input{Width: 150, Height: 150, Scale: 1},
		outputs: []output{{tfjs.Output{Node: "product", Name: "descriptor", Shape: []int64{1, 128}},
			"face descriptor, compared by Euclidean distance"}},
		origin:  "https://github.com/davisking/dlib-models (dlib_face_recognition_resnet_model_v1)",
		licence: "MIT as distributed; see NOTICE",
	},
	inference.Antispoof: {
		name:  "antispoof",
		from:  human,
		path:  "models/antispoof.json",
		load:  tfjs.Load,
		input: inference.Input{Width: 128, Height: 128, Scale: 1.0 / 255},
		outputs: []output{
			{tfjs.Output{Node: "Identity", Name: "real", Shape: []int64{1, 1}}, "probability that the face is real"},
		},
		origin:  "https://www.kaggle.com/anku420/fake-face-detection",
		licence: "MIT as distributed; see NOTICE",
	},
	inference.Liveness: {
		name:  "liveness",
		from:  human,
		path:  "models/liveness.json",
		load:  tfjs.Load,
		input: inference.Input{Width: 32, Height: 32, Scale: 1.0 / 255},
		outputs: []output{
			{tfjs.Output{Node: "Identity", Name: "live", Shape: []int64{1, 2}},
				"probability of a live face, then of a recorded one"},
		},
		origin:  "https://github.com/leokwu/livenessnet",
		licence: "MIT as distributed; see NOTICE",
	},
}
