package security

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/gatewaytest"
	"agegate/internal/rules/session"
	"agegate/internal/store/pgtest"
	"agegate/proof/table"
)

// TestRollingRestart replaces both processes of the hosted page, one after the
// other, while people are in front of the camera. A load balancer asks for
// readiness, as Kubernetes does.
func TestRollingRestart(t *testing.T) {
	table.Beside(t)
	models := modelsDir(t)
	album := newAlbum(t)
	if table.Full() {
		album.fill(t)
	}
	r := table.New(t, "A rolling restart of the hosted page")
	db := pgtest.URL(t)
	settings := []string{"AGEGATE_SECRET_KEY=" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
		"AGEGATE_FREE_CHECKS_PER_MONTH=-1", "AGEGATE_DRAIN=4m"}
	api := gatewaytest.Start(t, db, append(settings, "AGEGATE_ROLE=api")...)
	startPages := func() *gatewaytest.Gateway {
		return gatewaytest.Start(t, db, append(settings, "AGEGATE_ROLE=pages", "AGEGATE_ESTIMATOR=onnx",
			"AGEGATE_MODELS_DIR="+models)...)
	}
	b := &balancer{api: api.URL}
	front := httptest.NewServer(b)
	t.Cleanup(front.Close)
	old := []*gatewaytest.Gateway{startPages(), startPages()}
	b.add(old...)

	entrance := *api
	entrance.URL = front.URL
	key := api.Shop(t, "", nil).Live.APIKey
	people := make([]*visit, table.Sized(30, 4))
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), table.HangLimit)
	defer cancel()
	for i := range people {
		v := &visit{owned: beginAt(t, &entrance, key, sampleAge)}
		people[i] = v
		all.Go(func() {
			v.course, v.err = album.check(ctx, v.owned, func() bool { return v.status(api) != session.StatusPending })
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	busy := 0 // processes that were replaced with somebody in front of the camera
	for len(old) > 0 {
		replaced := 0
		for at := -1; at < 0; {
			if at = slices.IndexFunc(old, func(g *gatewaytest.Gateway) bool { return g.App.Recording() > 0 }); at >= 0 {
				replaced = at
				busy++
			}
			select {
			case <-done:
				at = 0
			case <-time.After(10 * time.Millisecond):
			}
		}
		b.add(startPages())
		old[replaced].Stop()
		old = slices.Delete(old, replaced, replaced+1)
	}
	<-done
	passed, interrupted, charged := 0, 0, []string(nil)
	for i, v := range people {
		s := v.session(api)
		interrupted += v.course.dropped
		if s.Attempts > v.course.verdicts {
			charged = append(charged, fmt.Sprintf("%d: %d attempts, %d verdicts", i, s.Attempts, v.course.verdicts))
		}
		if s.Status == session.StatusPassed {
			passed++
		} else {
			r.Logf("person %d: %s, %+v, %v", i, s.Status, v.course, v.err)
		}
	}
	r.Didf("%d people, two processes replaced, %d of them while they checked somebody", len(people), busy)
	r.Mark("replaced while they checked somebody", ">= 1", fmt.Sprint(busy), busy >= 1)
	r.Timely("passed", fmt.Sprint(len(people)), fmt.Sprint(passed), passed == len(people))
	r.Timely("checks interrupted in front of the camera", "0", fmt.Sprint(interrupted), interrupted == 0)
	r.None("attempts counted that ended without a verdict", charged)
}

// balancer leads requests for the hosted page to processes that are ready, and all
// others to the API.
type balancer struct {
	api string

	mu    sync.Mutex
	pages []string
}

// add adds processes of the hosted page. Those that end are never ready again.
func (b *balancer) add(pages ...*gatewaytest.Gateway) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range pages {
		b.pages = append(b.pages, g.URL)
	}
}

// ServeHTTP implements http.Handler.
func (b *balancer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	to := b.api
	if strings.HasPrefix(req.URL.Path, "/v/") {
		to = b.ready()
	}
	target, err := url.Parse(to)
	if err != nil || to == "" {
		http.Error(w, "nobody is ready", http.StatusBadGateway)
		return
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	proxy.ServeHTTP(w, req)
}

// ready returns a process that is ready.
func (b *balancer) ready() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range 100 {
		base := b.pages[rand.N(len(b.pages))]
		client := http.Client{Timeout: 2 * time.Second}
		res, err := client.Get(base + "/readyz")
		if err != nil {
			continue
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return base
		}
	}
	return ""
}
