package security

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/session"
	"agegate/proof/table"
)

// Marks for a crowd of thirty on two cores.
const (
	crowdTime  = 10 * time.Second // time until half of them have a result
	besideTime = 3 * time.Minute  // time until two thirds of them have one, while other programs use every core
)

// sampleAge is a target age that the sample face passes.
const sampleAge = 13

// TestCrowd lets many people check their age at the same time, a fifth of them
// with another shop: first alone on the machine, then while a program on each
// core uses all its time.
func TestCrowd(t *testing.T) {
	models := modelsDir(t)
	album := newAlbum(t)
	if table.Full() {
		album.fill(t)
	}
	for _, beside := range []bool{false, true} {
		name := "A crowd before the camera"
		if beside {
			name += ", with a busy loop on each core"
		}
		t.Run(name, func(t *testing.T) {
			r := table.New(t, name)
			g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_ESTIMATOR=onnx", "AGEGATE_MODELS_DIR="+models,
				"AGEGATE_FREE_CHECKS_PER_MONTH=-1")
			many, few := g.Shop(t, "", nil).Live.APIKey, g.Shop(t, "", nil).Live.APIKey
			people := make([]*visit, table.Sized(30, 5))
			for i := range people {
				key := many
				if i%5 == 4 {
					key = few
				}
				people[i] = &visit{owned: beginAt(t, g, key, sampleAge), few: key == few}
			}
			if beside {
				keepBusy(t)
			}
			limit := table.Sized(besideTime, table.HangLimit)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			var all sync.WaitGroup
			for _, v := range people {
				all.Go(func() {
					v.course, v.err = album.check(ctx, v.owned, func() bool { return v.status(g) != session.StatusPending })
				})
			}
			all.Wait()
			r.Didf("%d people on %d cores", len(people), runtime.NumCPU())
			judge(r, g, people, beside)
		})
	}
}

// visit is one person of the crowd.
type visit struct {
	owned
	few    bool // a visit to the shop with fewer people
	course course
	err    error
}

func (v *visit) session(g *gatewaytest.Gateway) session.Session {
	s, err := g.App.Sessions.ByLink(context.Background(), v.page[strings.LastIndex(v.page, "/")+1:])
	if err != nil {
		return session.Session{}
	}
	return s
}

func (v *visit) status(g *gatewaytest.Gateway) session.Status { return v.session(g).Status }

// judge marks the results of the crowd.
func judge(r *table.Row, g *gatewaytest.Gateway, people []*visit, beside bool) {
	var took, ofFew, ofMany, waits []time.Duration
	var charged, stuck []string
	passed, frames, sent := 0, 0, 0
	for i, v := range people {
		s := v.session(g)
		if s.Attempts > v.course.verdicts {
			charged = append(charged, fmt.Sprintf("%d: %d attempts, %d verdicts", i, s.Attempts, v.course.verdicts))
		}
		if v.err != nil && len(v.course.places) == 1 && v.course.frames == 0 {
			stuck = append(stuck, fmt.Sprintf("%d: %v", i, v.course.places))
		}
		if len(v.course.places) > 0 {
			waits = append(waits, v.course.took)
		}
		if s.Status != session.StatusPassed {
			r.Logf("person %d: %s after %d attempts, %+v, %v", i, s.Status, s.Attempts, v.course, v.err)
			continue
		}
		passed++
		frames, sent = frames+v.course.frames, sent+v.course.bytes
		took = append(took, v.course.took)
		if v.few {
			ofFew = append(ofFew, v.course.took)
		} else {
			ofMany = append(ofMany, v.course.took)
		}
	}
	want := len(people)
	if beside {
		want = want * 2 / 3
	}
	r.Timely("passed", fmt.Sprintf(">= %d", want), fmt.Sprint(passed), passed >= want)
	r.None("attempts counted that ended without a verdict", charged)
	r.TimelyNone("in line all the time without moving", stuck)
	if !beside {
		r.Within("half of them have their result within", quantile(took, 0.5), crowdTime)
	}
	r.Timely("half of the smaller shop's within", "<= the larger's", quantile(ofFew, 0.5).Round(time.Second/10).String(),
		quantile(ofFew, 0.5) <= quantile(ofMany, 0.5)+2*time.Second)
	if passed > 0 {
		r.Mark("pictures and kB of each that passed, on average", "-", fmt.Sprintf("%d, %d", frames/passed, sent/passed/1000),
			true)
	}
	r.Mark("in line, slowest", "-", fmt.Sprintf("%d, %s", len(waits), quantile(took, 1).Round(time.Second/10)), true)
}

// keepBusy runs a program on each core that uses all its time, until the test
// ends.
func keepBusy(t *testing.T) {
	for range runtime.NumCPU() {
		loop := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = loop.Process.Kill()
			_ = loop.Wait()
		})
	}
}
