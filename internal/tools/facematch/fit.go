package main

import (
	"maps"
	"math"
	"slices"

	"agegate/internal/check/document/portrait"
	"agegate/internal/check/inference"
	"agegate/internal/check/vision"
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
		joined[i] = r.Join(cosines[i], distances[i])
	}
	slices.Sort(joined)
	r.Threshold = joined[int((1-share)*float64(len(joined)))]
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

// described holds the descriptors of faces as they are compared; nil of those that
// have none.
type described struct {
	own      []*vision.Vector
	features []*vision.Features
}

func describe(r *portrait.Reference, faces []face, of func(face) *vision.Features) (d described) {
	for _, f := range faces {
		features := of(f)
		d.features = append(d.features, features)
		if features == nil {
			d.own = append(d.own, nil)
			continue
		}
		own := r.Common.Own(&features.Whole.Descriptor)
		d.own = append(d.own, &own)
	}
	return d
}

func (d described) cosine(i int, e described, j int) float64 {
	return d.own[i].Dot(e.own[j])
}

func (d described) distance(i int, e described, j int) float64 {
	return portrait.Distance(d.features[i], e.features[j])
}
