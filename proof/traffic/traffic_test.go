package traffic

import (
	"math"
	"testing"
	"time"

	"agegate/proof/table"
)

// picture is the mean processor time of a picture: that of a check, by its 36
// pictures (docs/measurements.md).
const picture = 193 * time.Millisecond / 36

// lengths are lengths of checks from the first picture to the result, as measured
// (docs/measurements.md): four of five on a good network, and one on a slow one.
var lengths = []time.Duration{
	5500 * time.Millisecond, 6 * time.Second, 6200 * time.Millisecond, 7 * time.Second, 11500 * time.Millisecond,
}

func day(perHour float64) Day {
	return Day{
		PerHour: perHour, Peak: 3, Machine: MachineOf(8, picture), Least: 2, Most: 1000, Demand: 0.6, Lengths: lengths,
		Seed: 1,
	}
}

// TestDays prints a day of 100,000 and of 1,000,000 checks an hour.
func TestDays(t *testing.T) {
	for _, perHour := range table.Sized([]float64{10_000, 100_000, 1_000_000}, []float64{10_000, 100_000}) {
		d := day(perHour)
		r := Simulate(d)
		t.Logf("%.0f checks an hour: %d checks, %.2f %% waited, p95 %s, longest %s; %d to %d machines of %d cores with %d "+
			"places, %.0f core-hours, %.3f per 1,000 checks",
			perHour, r.Checks, 100*r.Waited, r.P95, r.Worst, r.Machines[0], r.Machines[1], d.Machine.Cores, d.Machine.Places,
			r.CoreHours, r.CoreHours/float64(r.Checks)*1000)
		if off := math.Abs(float64(r.Checks)/(24*perHour) - 1); off > 0.05 {
			t.Errorf("%d checks in a day", r.Checks)
		}
		if r.P95 > time.Second {
			t.Errorf("one in twenty waited longer than %s", r.P95)
		}
	}
}

// TestTooFewMachines: with machines for the mean only, the line shows it.
func TestTooFewMachines(t *testing.T) {
	d := day(10_000)
	d.Machine = MachineOf(2, picture)
	enough := Simulate(d)
	d.Most = d.Least
	d.PerHour = 3600 * float64(d.Least*d.Machine.Places) / 7.24 // as many as pass through, on average
	d.Peak = 1.2
	few := Simulate(d)
	if few.P95 < time.Minute || enough.P95 > few.P95/10 {
		t.Errorf("p95 in line: %s with too few machines, %s with enough", few.P95, enough.P95)
	}
}
