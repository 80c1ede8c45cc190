package security

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"agegate/proof/table"

	"golang.org/x/time/rate"
)

// costLimit is the maximum processor time for one request of a stranger. It
// applies to the short form too, because processor time depends little on other
// load of the machine.
const costLimit = 50 * time.Millisecond

// costs marks the median processor time of n requests, one after the other, in an
// otherwise idle gateway: a collection of garbage may fall into one of them. It
// measures the time of the whole process, so it includes the attacker's part.
func costs(r *table.Row, name string, n int, request func(i int)) {
	var took []time.Duration
	for i := range n {
		before := processorTime()
		request(i)
		took = append(took, processorTime()-before)
	}
	median := quantile(took, 0.5)
	r.Mark(name, "< "+costLimit.String(), median.Round(100*time.Microsecond).String(), median < costLimit)
}

// processorTime returns the processor time that the process has used so far.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // never fails for the own process
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// attackRate is how many requests per second the attackers send while an honest
// user works. A few of any of these attacks once kept every core busy.
const attackRate = 20

// unnoticed is how long an attempt may take in any case. A multiple of a
// millisecond means nothing, because the attackers run on the same machine.
const unnoticed = 50 * time.Millisecond

// honestPause is the pause before each attempt of an honest user, because the
// gateway checks at most twenty passwords a second.
const honestPause = time.Second / 8

// besideAttack makes an honest user's attempts twice: in an idle gateway, and
// while attackers repeat a request. It marks that every attempt succeeds and that
// the attack slows none down much, and returns how many requests the attackers
// sent.
func besideAttack(t *testing.T, r *table.Row, attempts int, attack func(i int), honest func() error) (requests int) {
	t.Helper()
	var wrong []string
	try := func() (took []time.Duration) {
		for range attempts {
			time.Sleep(honestPause)
			start := time.Now()
			if err := honest(); err != nil {
				wrong = append(wrong, err.Error())
			}
			took = append(took, time.Since(start))
		}
		return took
	}
	idle := try()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	limit := rate.NewLimiter(attackRate, 1)
	var hands sync.WaitGroup
	var made atomic.Int64
	for range 8 {
		hands.Go(func() {
			for limit.Wait(ctx) == nil {
				attack(int(made.Add(1)))
			}
		})
	}
	attacked := try()
	cancel()
	hands.Wait()
	before, after := quantile(idle, 0.95), quantile(attacked, 0.95)
	r.None("honest attempts that failed", wrong)
	r.Within(fmt.Sprintf("95 of 100 of them took (idle %s)", before.Round(time.Millisecond)), after,
		max((starveFactor*before).Round(time.Millisecond), unnoticed))
	return int(made.Load())
}
