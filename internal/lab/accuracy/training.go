package accuracy

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"agegate/internal/check/age/calibration"
)

// examples are the training rows of a network.
type examples struct {
	inputs  int
	rows    []float32 // inputs values each
	targets []float32
	weights []float32 // how much each row counts, 1 on average
}

// training holds the parameters of a network's training, chosen by
// cross-validation on 2,000 pictures. Small changes make little difference.
type training struct {
	hidden, batch  int
	epochs, fewest int     // passes over the examples, and the fewest steps, which small sets need
	rate, decay    float64 // of AdamW
	dropout        float32 // share of hidden units left out at each step
}

// train fits a network to the examples by AdamW (Loshchilov and Hutter, 2019)
// with a rate that falls to zero along a cosine. The same seed gives the same
// network.
func (t training) train(ex examples, seed uint64) *calibration.Network {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // repeatable on purpose
	s := newStep(t, ex.inputs, random)
	order := random.Perm(len(ex.targets))
	perEpoch := len(order) / t.batch
	steps := max(t.epochs*perEpoch, t.fewest)
	for i := range steps {
		at := i % perEpoch * t.batch
		if at == 0 {
			random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		}
		s.gradient(ex, order[at:at+t.batch], random)
		s.update(i+1, t.rate*(1+math.Cos(math.Pi*float64(i)/float64(steps)))/2)
	}
	return &calibration.Network{Weights: s.layer.weights, Biases: s.layer.biases, Output: s.layer.output, Offset: s.layer.offset[0]}
}

// layers are the network's parameters, or their gradients, in one slice.
type layers struct {
	all                     []float32
	weights, biases, output []float32
	offset                  []float32 // one value
}

func newLayers(inputs, hidden int) layers {
	all := make([]float32, hidden*inputs+2*hidden+1)
	a, b := hidden*inputs, hidden*inputs+hidden
	return layers{all, all[:a], all[a:b], all[b : b+hidden], all[b+hidden:]}
}

// step holds the buffers of one training step.
type step struct {
	training
	inputs                    int
	layer, gradients          layers
	mean, variance            []float32 // Adam's moments of the gradient
	batchRows, active, errors []float32 // by row of the batch; active and errors by hidden unit
}

func newStep(t training, inputs int, random *rand.Rand) *step {
	s := &step{training: t, inputs: inputs, layer: newLayers(inputs, t.hidden), gradients: newLayers(inputs, t.hidden)}
	s.mean, s.variance = make([]float32, len(s.layer.all)), make([]float32, len(s.layer.all))
	s.batchRows = make([]float32, t.batch*inputs)
	s.active, s.errors = make([]float32, t.batch*t.hidden), make([]float32, t.batch*t.hidden)
	for i := range s.layer.weights {
		s.layer.weights[i] = float32(random.NormFloat64() / math.Sqrt(float64(inputs)))
	}
	for i := range s.layer.output {
		s.layer.output[i] = float32(random.NormFloat64() / math.Sqrt(float64(t.hidden)))
	}
	return s
}

// gradient computes the gradient of half the weighted mean square error over a
// batch of examples.
func (s *step) gradient(ex examples, batch []int, random *rand.Rand) {
	for i, row := range batch {
		copy(s.batchRows[i*s.inputs:], ex.rows[row*s.inputs:(row+1)*s.inputs])
	}
	rows := matrix(s.batch, s.inputs, s.batchRows)
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, rows, matrix(s.hidden, s.inputs, s.layer.weights), 0, matrix(s.batch, s.hidden, s.active))
	clear(s.gradients.all)
	for i, row := range batch {
		s.backward(i, ex.targets[row], ex.weights[row], random)
	}
	blas32.Gemm(blas.Trans, blas.NoTrans, 1, matrix(s.batch, s.hidden, s.errors), rows, 0, matrix(s.hidden, s.inputs, s.gradients.weights))
}

// backward finishes one row: from the hidden units' sums to the output's
// error, and back to the hidden units' errors.
func (s *step) backward(i int, target, weight float32, random *rand.Rand) {
	active, errors := s.active[i*s.hidden:(i+1)*s.hidden], s.errors[i*s.hidden:(i+1)*s.hidden]
	out := s.layer.offset[0]
	for j, bias := range s.layer.biases {
		active[j] = max(0, active[j]+bias)
		if random.Float32() < s.dropout {
			active[j] = 0
		}
		active[j] /= 1 - s.dropout
		out += active[j] * s.layer.output[j]
	}
	slope := weight * (out - target) / float32(s.batch)
	s.gradients.offset[0] += slope
	for j, a := range active {
		errors[j] = 0
		if a > 0 {
			errors[j] = slope * s.layer.output[j] / (1 - s.dropout)
			s.gradients.output[j] += slope * a
			s.gradients.biases[j] += errors[j]
		}
	}
}

// update moves the parameters against their gradients. Biases are not decayed.
func (s *step) update(count int, rate float64) {
	const first, second = 0.9, 0.999 // Adam's usual decay of its moments
	c1 := float32(1 / (1 - math.Pow(first, float64(count))))
	c2 := float32(1 / (1 - math.Pow(second, float64(count))))
	for i, g := range s.gradients.all {
		s.mean[i] = first*s.mean[i] + (1-first)*g
		s.variance[i] = second*s.variance[i] + (1-second)*g*g
		move := s.mean[i] * c1 / (float32(math.Sqrt(float64(s.variance[i]*c2))) + 1e-8)
		s.layer.all[i] -= float32(rate) * move
	}
	for _, decaying := range [][]float32{s.layer.weights, s.layer.output} {
		for i := range decaying {
			decaying[i] *= float32(1 - rate*s.decay)
		}
	}
}

func matrix(rows, columns int, data []float32) blas32.General {
	return blas32.General{Rows: rows, Cols: columns, Stride: columns, Data: data}
}
