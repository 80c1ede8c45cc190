package wordpress

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"agegate/proof/table"
)

// secretText is in what is gated, and nowhere else.
const secretText = "zanzibar"

// ofTerm is a REST route of categories themselves.
var ofTerm = regexp.MustCompile(`/wp/v2/(categories|product_cat)\b`)

// TestRoutes: what WordPress shows by any rewrite rule, query variable or REST route, it
// shows with a pass only. Each address is first shown to show it without the gate. The
// short form tries every third address, make security tries all.
func TestRoutes(t *testing.T) {
	s := startSite(t)
	var routes struct{ Found, Unmade []string }
	out := s.php(t, nil, "testdata/routes.php")
	if err := json.Unmarshal([]byte(out), &routes); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, rule := range routes.Unmade {
		t.Errorf("no address was made of the rule %s", rule)
	}
	nobody := s.visitor(t)
	found := eachOf(routes.Found, table.Sized(1, 3))
	shown := nobody.showing(found)
	t.Logf("%d addresses, of which %d show gated text without the gate", len(found), len(shown))
	if len(shown) < table.Sized(200, 60) {
		t.Errorf("the control shows %d addresses: %q", len(shown), shown)
	}
	third := eachOf(shown, 3) // enough where the same hooks answer
	t.Run("door", func(t *testing.T) { testDoor(t, s, third) })
	s.activate(t, true)
	for name, settings := range map[string]string{
		"parts": fmt.Sprintf(`{"terms":[%d,%d],"posts":[%d]}`, s.ids.Terms[0], s.ids.Terms[1], s.ids.Page),
		"types": `{"types":["post","page","product","attachment"]}`,
		"whole": fmt.Sprintf(`{"whole":true,"free":[%d,%d]}`, s.ids.FreePage, s.ids.Free),
	} {
		s.set(t, settings)
		tried := shown
		if name != "parts" {
			tried = third
		}
		for _, address := range nobody.showing(tried) {
			if name == "types" && ofTerm.MatchString(address) {
				continue // this rule is about pages: what is said of a category itself is free
			}
			t.Errorf("%s: without a pass, %s is shown", name, address)
		}
		if res := nobody.get("/imprint/"); (res.status == http.StatusOK) != (name != "types") {
			t.Errorf("%s: the free page is answered %d", name, res.status)
		}
	}
	s.set(t, fmt.Sprintf(`{"terms":[%d,%d],"posts":[%d]}`, s.ids.Terms[0], s.ids.Terms[1], s.ids.Page))
	adult := s.visitor(t)
	adult.pass()
	still := adult.showing(shown)
	for _, address := range shown {
		if !slices.Contains(still, address) {
			t.Errorf("with a pass, %s is not shown", address)
		}
	}
	s.complains(t)
}

// eachOf returns the first of every so many addresses.
func eachOf(addresses []string, many int) (some []string) {
	for group := range slices.Chunk(addresses, many) {
		some = append(some, group[0])
	}
	return some
}

// showing returns which addresses show gated text, after their redirects within the site.
func (v *visitor) showing(addresses []string) (shown []string) {
	shows := make([]bool, len(addresses))
	var workers sync.WaitGroup
	next := make(chan int)
	for range 4 {
		workers.Go(func() {
			for i := range next {
				res := v.get(addresses[i])
				for range 5 {
					if res.location == "" {
						break
					}
					res = v.get(res.location)
				}
				shows[i] = strings.Contains(strings.ToLower(res.body), secretText)
			}
		})
	}
	for i := range addresses {
		next <- i
	}
	close(next)
	workers.Wait()
	for i, address := range addresses {
		if shows[i] {
			shown = append(shown, address)
		}
	}
	return shown
}
