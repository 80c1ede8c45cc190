package main

import (
	"maps"
	"math"
	"slices"

	"agegate/internal/check/document/portrait"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// fit returns the reference: what is common to the first faces, and what the pairs
// of strangers of one sex among the second give.
func fit(first, second []face, share float64) *portrait.Reference {
	r := &portrait.Reference{
		Models: map[inference.Model]string{},
		Common: common(first),
	}
	plain := describe(r, second, func(f face) *vision.Features { return f.features })
	var cosines, distances []float64
	for i := range second {
		for j := range i {
			if second[i].sex == second[j].sex {
				cosines = append(cosines, plain.cosine(i, plain, j))
				distances = append(distances, plain.distance(i, plain, j))
			}
		}
	}
	r.Stock, r.Matcher = spread(cosines, 1), spread(distances, -1)
	joined := make([]float64, len(cosines))
	for i := range joined {
		joined[i] = r.Join(cosines[i], distances[i], 0)
	}
	slices.Sort(joined)
	r.Threshold = joined[int((1-share)*float64(len(joined)))]
	fitCrowd(r, first)
	return r
}

// common returns the mean of the means of each collection's groups, however many faces
// each has, and the directions in which they differ from it.
func common(faces []face) (c portrait.Common) {
	groups := map[string][]*vision.Features{}
	for _, f := range faces {
		name := f.collection + " " + f.group
		groups[name] = append(groups[name], f.features)
	}
	var means []vision.Vector
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		var m vision.Vector
		for _, v := range groups[name] {
			for i, x := range v.Whole.Descriptor {
				m[i] += x / float32(len(groups[name]))
			}
		}
		means = append(means, m)
	}
	for _, m := range means {
		for i, x := range m {
			c.Mean[i] += x / float32(len(means))
		}
	}
	for _, m := range means[1:] { // the first mean differs in a direction that the others span
		for i := range m {
			m[i] -= c.Mean[i]
		}
		for k := range c.Groups {
			m.Without(&c.Groups[k])
		}
		m.Normalize()
		c.Groups = append(c.Groups, m)
	}
	return c
}

// spread returns the mean and the deviation of the values times the sign.
func spread(values []float64, sign float64) portrait.Spread {
	var sum, square float64
	for _, v := range values {
		sum += sign * v
	}
	middle := sum / float64(len(values))
	for _, v := range values {
		square += (sign*v - middle) * (sign*v - middle)
	}
	return portrait.Spread{Mean: middle, Deviation: math.Sqrt(square / float64(len(values)))}
}

// nearest is the number of strangers that make up a face's crowd.
const nearest = 20

// ridge keeps the weights of a crowd small.
const ridge = 1e-4

// fitCrowd sets what estimates the mean similarity of the nearest of the faces to a face,
// less the median of that estimate. It uses no labels.
func fitCrowd(r *portrait.Reference, faces []face) {
	plain := describe(r, faces, func(f face) *vision.Features { return f.features })
	const last = inference.IdentitySize
	descriptors := mat.NewDense(len(faces), last+1, nil)
	crowds := mat.NewVecDense(len(faces), nil)
	for i, f := range faces {
		similarities := make([]float64, 0, len(faces))
		for j := range faces {
			if j != i {
				similarities = append(similarities, plain.similarity(r, i, plain, j))
			}
		}
		slices.Sort(similarities)
		crowds.SetVec(i, stat.Mean(similarities[len(similarities)-nearest:], nil))
		for k, v := range f.features.Identity {
			descriptors.Set(i, k, float64(v))
		}
		descriptors.Set(i, last, 1)
	}
	var square mat.SymDense
	square.SymOuterK(1, descriptors.T())
	for k := range last {
		square.SetSym(k, k, square.At(k, k)+ridge*float64(len(faces)))
	}
	var right, weights mat.VecDense
	right.MulVec(descriptors.T(), crowds)
	var factors mat.Cholesky
	if !factors.Factorize(&square) || factors.SolveVecTo(&weights, &right) != nil {
		panic("facematch: too few faces for a crowd")
	}
	copy(r.Crowd[:], weights.RawVector().Data)
	excess := make([]float64, len(faces))
	for i, f := range faces {
		excess[i] = r.Excess(f.features)
	}
	slices.Sort(excess)
	r.Crowd[last] -= excess[len(excess)/2]
}

// described holds the descriptors of faces as they are compared; nil of those that
// have none.
type described struct {
	own      []*vision.Vector
	features []*vision.Features
	excess   []float64
}

func describe(r *portrait.Reference, faces []face, of func(face) *vision.Features) (d described) {
	for _, f := range faces {
		features := of(f)
		d.features = append(d.features, features)
		if features == nil {
			d.own, d.excess = append(d.own, nil), append(d.excess, 0)
			continue
		}
		own := r.Common.Own(&features.Whole.Descriptor)
		d.own, d.excess = append(d.own, &own), append(d.excess, r.Excess(features))
	}
	return d
}

func (d described) cosine(i int, e described, j int) float64 {
	return d.own[i].Dot(e.own[j])
}

func (d described) distance(i int, e described, j int) float64 {
	return portrait.Distance(d.features[i], e.features[j])
}

// similarity is what r.Similarity returns.
func (d described) similarity(r *portrait.Reference, i int, e described, j int) float64 {
	return r.Join(d.cosine(i, e, j), d.distance(i, e, j), min(d.excess[i], e.excess[j]))
}
