package documents

import "math"

// along returns the place of a number of characters on the middle line of the zone,
// on the page.
func (p *page) along(characters float64) point {
	return point{p.zone[0].x + characters*pitchMM, (p.zone[0].y + p.zone[2].y) / 2}
}

// without moves the view along the zone until the frame begins after a number of
// its characters. A number below zero leaves a margin.
func (v view) without(p *page, characters float64) view {
	left, right := apply(v.toFrame, p.zone[0]), apply(v.toFrame, p.zone[1])
	length := math.Hypot(right.x-left.x, right.y-left.y)
	ux, uy := (right.x-left.x)/length, (right.y-left.y)/length
	edge := apply(v.toFrame, p.along(characters))
	for edge.x > 0 && edge.y > 0 && edge.x < Width && edge.y < Height {
		edge.x, edge.y = edge.x-ux, edge.y-uy
		v.toFrame = multiply([9]float64{1, 0, -ux, 0, 1, -uy, 0, 0, 1}, v.toFrame)
	}
	v.toPage = invert(v.toFrame)
	return v
}

// shineOn saturates an ellipse over all lines of a part of the zone, with an edge
// as soft as that of a lamp on laminate.
func shineOn(frame *picture, v view, p *page, from, to float64) {
	const core, strength = 0.7, 3.0 // of the radius at which the light begins to fall; of the light in the middle
	middle := p.along((from + to) / 2)
	wide, tall := (to-from)/2*pitchMM, (p.zone[2].y-p.zone[0].y)/2+pitchMM
	v.over(frame, middle, wide/core, tall/core, func(out []float32, _ point, far float64) {
		shine := float32(min(1, strength*math.Exp(-4*far)))
		for i := range out {
			out[i] += (255 - out[i]) * shine
		}
	})
}

// putFinger covers a part of the zone from below with a finger, rounded at its
// tip.
func putFinger(frame *picture, v view, p *page, from, to float64) {
	skin := [3]float32{205, 150, 125}
	radius := (to - from) / 2 * pitchMM
	tip := point{p.along((from + to) / 2).x, p.zone[0].y + 0.6*radius}
	const longest = 12.0 // radii of the part that may be in the frame
	v.over(frame, tip, 2*radius, longest*radius, func(out []float32, q point, _ float64) {
		dx, dy := (q.x-tip.x)/radius, (q.y-tip.y)/radius
		if dx*dx < 1 && (dy > 0 || dx*dx+dy*dy < 1) {
			copy(out, skin[:])
		}
	})
}

// over calls paint with each pixel whose place on the page lies within an ellipse,
// with that place, and with the square of its distance from the middle, in radii.
func (v view) over(frame *picture, middle point, wide, tall float64, paint func(out []float32, q point, far float64)) {
	for y := range Height {
		for x := range Width {
			q := v.onPage(apply(v.toPage, point{float64(x) + 0.5, float64(y) + 0.5}))
			dx, dy := (q.x-middle.x)/wide, (q.y-middle.y)/tall
			if far := dx*dx + dy*dy; far < 1 {
				paint(frame.at(x, y), q, far)
			}
		}
	}
}
