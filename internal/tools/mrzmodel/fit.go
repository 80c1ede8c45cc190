package main

import (
	"math"
	"math/rand/v2"
	"sync"

	"agegate/internal/check/document/glyph"
)

// fit trains a network with Adam on newly drawn scenes, none of which is used
// twice. Each thread computes the gradient of its share of each batch.
func (t training) fit(fonts *fontSet, report func(step int, loss float64)) *glyph.Weights {
	w := initial(rand.New(rand.NewPCG(t.seed, 0))) //nolint:gosec // repeatable on purpose
	learners := make([]*learner, t.threads)
	for i := range learners {
		//nolint:gosec,gosec // repeatable on purpose
		learners[i] = &learner{fonts: fonts, random: rand.New(rand.NewPCG(t.seed, uint64(i)+1)), gradient: new(glyph.Weights)}
	}
	var first, second, average glyph.Weights
	var recent float64
	for step := 1; step <= t.steps; step++ {
		var group sync.WaitGroup
		for _, l := range learners {
			group.Go(func() { l.learn(w, t.batch/t.threads) })
		}
		group.Wait()
		for _, l := range learners[1:] {
			add(learners[0].gradient, l.gradient)
		}
		rate := t.rate * min(1, float64(step)/200) * (0.5 + 0.5*math.Cos(math.Pi*float64(step)/float64(t.steps)))
		adam(w, learners[0].gradient, &first, &second, rate, step, 1/float32(t.batch))
		trail(&average, w, step)
		for _, l := range learners {
			recent += l.loss / float64(t.batch)
			*l.gradient, l.loss = glyph.Weights{}, 0
		}
		if step%t.every == 0 {
			report(step, recent/float64(t.every))
			recent = 0
		}
	}
	return &average
}

// initial draws random weights with which the layers keep the variance (He et al.
// 2015).
func initial(random *rand.Rand) *glyph.Weights {
	w := new(glyph.Weights)
	fill := func(group []float32, inputs int) {
		for i := range group {
			group[i] = float32(random.NormFloat64() * math.Sqrt(2/float64(inputs)))
		}
	}
	for i := range w.Conv1 {
		fill(w.Conv1[i][:], len(w.Conv1))
	}
	for i := range w.Conv2 {
		fill(w.Conv2[i][:], len(w.Conv2))
	}
	for i := range w.Dense {
		fill(w.Dense[i][:], len(w.Dense))
	}
	for i := range w.Last {
		fill(w.Last[i][:], len(w.Last))
	}
	return w
}

func add(to, from *glyph.Weights) {
	others := from.Groups()
	for i, group := range to.Groups() {
		for j, v := range others[i] {
			group[j] += v
		}
	}
}

// adam moves the weights against their gradient (Kingma and Ba 2015).
func adam(w, gradient, first, second *glyph.Weights, rate float64, step int, scale float32) {
	const b1, b2, tiny = 0.9, 0.999, 1e-8
	fix1, fix2 := 1-math.Pow(b1, float64(step)), 1-math.Pow(b2, float64(step))
	size := float32(rate * math.Sqrt(fix2) / fix1)
	g := gradient.Groups()
	m := first.Groups()
	v := second.Groups()
	for i, group := range w.Groups() {
		for j := range group {
			d := g[i][j] * scale
			m[i][j] = b1*m[i][j] + (1-b1)*d
			v[i][j] = b2*v[i][j] + (1-b2)*d*d
			group[j] -= size * m[i][j] / (float32(math.Sqrt(float64(v[i][j]))) + tiny)
		}
	}
}

// trail updates a moving average of the weights, which recognises better than the
// latest weights.
func trail(average, w *glyph.Weights, step int) {
	keep := float32(min(0.998, float64(step-1)/float64(step+9)))
	from := w.Groups()
	for i, group := range average.Groups() {
		for j := range group {
			group[j] = keep*group[j] + (1-keep)*from[i][j]
		}
	}
}

// learner draws scenes and sums the gradient over their cells.
type learner struct {
	fonts    *fontSet
	random   *rand.Rand
	waiting  []example
	gradient *glyph.Weights
	loss     float64
}

// pool is how many cells wait to be chosen from, so that a batch has cells from
// many scenes.
const pool = 2000

func (l *learner) next() example {
	for len(l.waiting) < pool {
		newScene(l.fonts, l.random).examples(l.random, func(e example) { l.waiting = append(l.waiting, e) })
	}
	i, last := l.random.IntN(len(l.waiting)), len(l.waiting)-1
	e := l.waiting[i]
	l.waiting[i] = l.waiting[last]
	l.waiting = l.waiting[:last]
	return e
}

// learn adds the gradient of the cross entropy over n cells.
func (l *learner) learn(w *glyph.Weights, n int) {
	var a glyph.Activations
	for range n {
		e := l.next()
		w.Run(&e.cell, &a)
		l.loss -= float64(a.Logs[e.class])
		back(w, l.gradient, &e.cell, &a, e.class)
	}
}

// smoothing is the share of the probability that the right class gives up, so
// that the network does not become overconfident.
const smoothing = 0.02

// Gradients of the layers' outputs.
type (
	firstLayer  [glyph.Rows1 * glyph.Columns1][glyph.Channels1]float32
	secondLayer [glyph.Rows2 * glyph.Columns2][glyph.Channels2]float32
)

// back adds the gradient for one cell.
func back(w, g *glyph.Weights, cell *glyph.Cell, a *glyph.Activations, class int) {
	second := backDense(w, g, a, class)
	first := backSecond(w, g, a, &second)
	for at := range first {
		top, left := 2*(at/glyph.Columns1), 2*(at%glyph.Columns1)
		d := &first[at]
		for c, v := range d {
			g.Bias1[c] += v
		}
		for tap := range g.Conv1 {
			x := cell[(top+tap/glyph.Kernel1)*glyph.Width+left+tap%glyph.Kernel1]
			gradient := &g.Conv1[tap]
			for c := range d {
				gradient[c] += d[c] * x
			}
		}
	}
}

// backDense computes the gradient of the dense layers.
func backDense(w, g *glyph.Weights, a *glyph.Activations, class int) (second secondLayer) {
	var out [glyph.Classes]float32
	for c, log := range a.Logs {
		out[c] = float32(math.Exp(float64(log))) - smoothing/float32(glyph.Classes)
	}
	out[class] -= 1 - smoothing
	for c, d := range out {
		g.Bias4[c] += d
	}
	var third [glyph.Hidden]float32
	for i, x := range a.Third {
		if x == 0 {
			continue
		}
		weights, gradient := &w.Last[i], &g.Last[i]
		for c, d := range out {
			third[i] += d * weights[c]
			gradient[c] += d * x
		}
		g.Bias3[i] += third[i]
	}
	for i := range glyph.Inner {
		at, c := i/glyph.Channels2, i%glyph.Channels2
		x := a.Second[at][c]
		if x == 0 {
			continue
		}
		var sum float32
		weights, gradient := &w.Dense[i], &g.Dense[i]
		for o, d := range third {
			sum += d * weights[o]
			gradient[o] += d * x
		}
		second[at][c] = sum
		g.Bias2[c] += sum
	}
	return second
}

// backSecond computes the gradient of the second convolution.
func backSecond(w, g *glyph.Weights, a *glyph.Activations, second *secondLayer) (first firstLayer) {
	for at := range second {
		top, left := 2*(at/glyph.Columns2), 2*(at%glyph.Columns2)
		d := &second[at]
		for tap := range glyph.Kernel2 * glyph.Kernel2 {
			from := (top+tap/glyph.Kernel2)*glyph.Columns1 + left + tap%glyph.Kernel2
			for c, x := range a.First[from] {
				if x == 0 {
					continue
				}
				var sum float32
				weights, gradient := &w.Conv2[tap*glyph.Channels1+c], &g.Conv2[tap*glyph.Channels1+c]
				for o := range d {
					sum += d[o] * weights[o]
					gradient[o] += d[o] * x
				}
				first[from][c] += sum
			}
		}
	}
	return first
}

// judge returns the shares of characters and of junk that the network recognises,
// in newly drawn scenes.
func judge(w *glyph.Weights, fonts *fontSet, seed uint64) (right, junk float64) {
	random := rand.New(rand.NewPCG(seed, 99)) //nolint:gosec // repeatable on purpose
	var count, hits [2]int
	var a glyph.Activations
	for range 1000 {
		newScene(fonts, random).examples(random, func(e example) {
			w.Run(&e.cell, &a)
			best := 0
			for c, log := range a.Logs {
				if log > a.Logs[best] {
					best = c
				}
			}
			kind := 0
			if e.class == glyph.Junk {
				kind = 1
			}
			count[kind]++
			if best == e.class {
				hits[kind]++
			}
		})
	}
	return float64(hits[0]) / float64(count[0]), float64(hits[1]) / float64(count[1])
}
