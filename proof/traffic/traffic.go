// Package traffic simulates a day of camera checks over many processes of the
// hosted page, which an autoscaler adds and removes.
package traffic

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Machine is a process of the hosted page.
type Machine struct {
	Cores  int
	Places int           // checks in front of the camera at the same time
	Starts time.Duration // from the autoscaler's order until it is ready
}

// MachineOf returns the process of a machine: its places follow from the processor
// time of a picture as in turn.Queue.Sustains: 70 % of the cores, five pictures a
// second for each check.
func MachineOf(cores int, picture time.Duration) Machine {
	return Machine{Cores: cores, Places: max(2, int(0.7*float64(cores)/(5*picture.Seconds()))), Starts: 30 * time.Second}
}

// Day is what is simulated.
type Day struct {
	PerHour float64 // checks, the mean of the day
	Peak    float64 // the busiest hour as a multiple of the mean
	Machine Machine
	Least   int // machines
	Most    int
	// Demand is the autoscaler's target: checks in front of the camera and in line,
	// as a share of the places (autoscaler.yaml of deploy/kubernetes).
	Demand float64
	// Lengths are lengths of checks, of which each shopper gets one by chance.
	Lengths []time.Duration
	Seed    uint64

	sharp, scale float64 // of the day's curve
}

// Result is what a day came to.
type Result struct {
	Checks     int
	P95, Worst time.Duration // in line
	Waited     float64       // share of the shoppers who waited at all
	CoreHours  float64       // of all machines that ran
	Machines   [2]int        // least and most at the same time
}

// step is the time between two moments of the simulation, and sync the time
// between two decisions of the autoscaler.
const (
	step = 100 * time.Millisecond
	sync = 15 * time.Second
	calm = 5 * time.Minute // the demand must have been lower for so long before a machine is removed
)

// Simulate runs the day. Shoppers wait in one line for all machines: with many
// shops and random places, the machines' own lines differ little from it.
func Simulate(d Day) Result {
	d.sharp = d.sharpness()
	d.scale = bessel(d.sharp)
	random := rand.New(rand.NewPCG(d.Seed, 1)) //nolint:gosec // a simulation
	var (
		r        Result
		line     []time.Duration // arrivals of those who wait
		waits    []time.Duration
		ready    = d.machines(d.rate(0) * mean(d.Lengths).Seconds())
		ordered  []time.Duration // when machines that start are ready
		needed   []int           // machines that the autoscaler asked for, newest last
		inFront  int
		finishes []int // checks that end, by step; a ring
	)
	finishes = make([]int, int(slices.Max(d.Lengths)/step)+3)
	r.Machines = [2]int{ready, ready}
	const day = 24 * time.Hour
	for now := time.Duration(0); now < day; now += step {
		moment := int(now / step)
		inFront -= finishes[moment%len(finishes)]
		finishes[moment%len(finishes)] = 0
		for len(ordered) > 0 && ordered[0] <= now {
			ordered, ready = ordered[1:], ready+1
		}
		for range poisson(random, d.rate(now)*step.Seconds()) {
			line = append(line, now)
		}
		for len(line) > 0 && inFront < ready*d.Machine.Places {
			waits = append(waits, now-line[0])
			line = line[1:]
			inFront++
			length := d.Lengths[random.IntN(len(d.Lengths))]
			finishes[(moment+int(length/step)+1)%len(finishes)]++
		}
		if now%sync == 0 {
			needed = append(needed, d.machines(float64(inFront+len(line))))
			needed = needed[max(0, len(needed)-int(calm/sync)):]
			switch total := ready + len(ordered); {
			case needed[len(needed)-1] > total:
				more := min(needed[len(needed)-1]-total, total) // at most twice as many
				for range more {
					ordered = append(ordered, now+d.Machine.Starts)
				}
			case now%time.Minute == 0 && slices.Max(needed) < ready && inFront <= (ready-1)*d.Machine.Places:
				ready--
			}
		}
		r.CoreHours += float64((ready+len(ordered))*d.Machine.Cores) * step.Hours()
		r.Machines = [2]int{min(r.Machines[0], ready), max(r.Machines[1], ready)}
	}
	slices.Sort(waits)
	r.Checks = len(waits)
	r.P95, r.Worst = waits[len(waits)*95/100], waits[len(waits)-1]
	first, _ := slices.BinarySearch(waits, 1)
	r.Waited = 1 - float64(first)/float64(len(waits))
	return r
}

// machines returns how many the autoscaler asks for.
func (d Day) machines(checks float64) int {
	return min(max(int(math.Ceil(checks/(d.Demand*float64(d.Machine.Places)))), d.Least), d.Most)
}

func mean(all []time.Duration) (m time.Duration) {
	for _, d := range all {
		m += d / time.Duration(len(all))
	}
	return m
}

// rate returns the arrivals a second: a quiet night and a busy evening, as a sine
// whose highest point is the peak.
func (d Day) rate(now time.Duration) float64 {
	phase := 2 * math.Pi * (now.Hours() - 14) / 24 // highest at 20:00
	// The exponential of a sine, divided by its mean.
	return d.PerHour / 3600 * math.Exp(d.sharp*math.Sin(phase)) / d.scale
}

// sharpness returns k for which exp(k sin) is Peak times its mean, which is the
// modified Bessel function I0(k).
func (d Day) sharpness() float64 {
	low, high := 0.0, 20.0
	for range 60 {
		k := (low + high) / 2
		if math.Exp(k)/bessel(k) < d.Peak {
			low = k
		} else {
			high = k
		}
	}
	return low
}

// bessel returns I0(x) by its series (Abramowitz and Stegun, 9.6.12).
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for i := 1; i < 60; i++ {
		term *= x * x / 4 / float64(i*i)
		sum += term
	}
	return sum
}

// poisson returns a Poisson-distributed number, by a normal one where the mean is
// large.
func poisson(random *rand.Rand, mean float64) int {
	if mean > 30 {
		return max(0, int(math.Round(mean+math.Sqrt(mean)*random.NormFloat64())))
	}
	n, p, limit := 0, random.Float64(), math.Exp(-mean)
	for p > limit {
		p *= random.Float64()
		n++
	}
	return n
}
