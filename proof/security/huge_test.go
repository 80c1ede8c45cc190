package security

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"agegate/internal/gatewaytest"
	"agegate/proof/table"
)

// memoryBound is the maximum that one request may make the gateway allocate, kept
// or not. Holding a body of 10 MB once would exceed it.
const memoryBound = 8 << 20

func TestHugeBodies(t *testing.T) {
	r := table.New(t, "Huge bodies, eight at a time")
	g := gatewaytest.Start(t, gatewaytest.SQLite(t), "AGEGATE_TEST_DAILY_CAP=-1")
	shop := g.Shop(t, "", consenting)
	s := g.Create(t, shop.Test.APIKey, 18)
	token := s.VerificationURL[strings.LastIndex(s.VerificationURL, "/")+1:]
	const create, form = "/api/v1/sessions/create", "application/x-www-form-urlencoded"
	huge := []struct {
		name, target, kind, body string
		chunked                  bool
		want                     string // statuses
	}{
		{"10 MB", create, "application/json", `{"success_url":"` + strings.Repeat("a", 10<<20) + `"}`, false, "413"},
		{"10 MB in chunks", create, "application/json", `{"success_url":"` + strings.Repeat("a", 10<<20) + `"}`, true, "413"},
		{"a million members", create, "application/json", members(1_000_000), false, "413"},
		{"a million members in chunks", create, "application/json", members(1_000_000), true, "413"},
		{"as many members as fit", create, "application/json", members(6_000), true, "422"},
		{"5 million levels", create, "application/json", strings.Repeat("[", 5<<20), false, "413"},
		{"as many levels as fit", create, "application/json", strings.Repeat("[", 32<<10) + strings.Repeat("]", 32<<10),
			false, "422"},
		{"as many objects as fit", create, "application/json", strings.Repeat(`{"a":`, 10_000) + "1" +
			strings.Repeat("}", 10_000), false, "422"},
		{"a number as long as fits", create, "application/json", `{"target_age":1` + strings.Repeat("0", 65_000) + "}", false,
			"422"},
		{"10 MB without a key", "/api/v1/sessions/" + s.SessionID + "/status", "", strings.Repeat("a", 10<<20), false, "413"},
		{"10 MB of form", "/v/" + token + "/consent", form, "share=" + strings.Repeat("a", 10<<20), false, "303 400 413"},
		{"10 MB of form in chunks", "/v/" + token + "/document", form, strings.Repeat("a=b&", 10<<18), true, "303 400 413"},
		{"10 MB to nobody", "/nowhere", form, strings.Repeat("a", 10<<20), false, "404"},
		{"10 MB to a document", "/openapi.json", "", strings.Repeat("a", 10<<20), false, "405"},
	}
	var wrong []string
	var most uint64
	var greedy string
	rounds := table.Sized(20, 2)
	r.Didf("%d kinds, %d times eight at once", len(huge), rounds)
	for range rounds {
		for _, h := range huge {
			bodies, allocated := eightTimes(t, g,
				request{method: http.MethodPost, target: h.target, body: h.body, chunked: h.chunked,
					header: []string{"Host: x", "Content-Type: " + h.kind, "X-API-Key: " + shop.Test.APIKey}})
			for _, status := range bodies {
				if !strings.Contains(h.want, status) {
					wrong = append(wrong, fmt.Sprintf("%s: %s, want %s", h.name, status, h.want))
				}
			}
			if allocated > most {
				most, greedy = allocated, h.name
			}
		}
	}
	r.None("answers other than 413, 422 or the page's own", wrong)
	r.Mark("most memory for a request: "+greedy, fmt.Sprintf("< %d MB", memoryBound>>20),
		fmt.Sprintf("%.1f MB", float64(most)/(1<<20)), most < memoryBound)
}

// eightTimes sends a request eight times at the same time. It returns the
// statuses, and the memory that the whole process allocated meanwhile, per
// request.
func eightTimes(t *testing.T, g *gatewaytest.Gateway, sent request) (statuses [8]string, allocated uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	for i := range statuses {
		client := newWire(t, g.URL)
		wg.Go(func() {
			got, err := client.do(sent)
			client.close()
			statuses[i] = fmt.Sprint(got.status)
			if err != nil {
				statuses[i] = err.Error()
			}
		})
	}
	wg.Wait()
	runtime.ReadMemStats(&after)
	return statuses, (after.TotalAlloc - before.TotalAlloc) / uint64(len(statuses))
}

func members(n int) string {
	var b strings.Builder
	b.WriteString(`{"target_age":18`)
	for i := range n {
		fmt.Fprintf(&b, `,"%d":1`, i)
	}
	b.WriteString("}")
	return b.String()
}
