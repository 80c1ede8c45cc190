package security

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agegate/internal/backoffice/account"
	"agegate/internal/gatewaytest"
	"agegate/proof/table"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
)

// provided returns a tenant with a provider, and the path that begins a log-in.
func provided(t *testing.T, g *gatewaytest.Gateway, idp *gatewaytest.IDP) (id uuid.UUID, begin string) {
	t.Helper()
	id, owner := g.Shop(t, "", nil).Tenant.ID, g.SignIn(t, false, account.ByPasskey)
	g.Join(t, owner, id, account.Owner)
	g.StepUp(t, owner)
	form := url.Values{"name": {"Shop ID"}, "issuer": {idp.URL}, "client_id": {"gate"}, "secret": {gatewaytest.IDPSecret},
		"groups_claim": {"groups"}, "groups_viewer": {"people"}}
	if res, _ := owner.Fill(t, "/dashboard/"+id.String()+"/team/sign-on", form); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("a provider is set up: %d", res.StatusCode)
	}
	return id, account.SSOPath + id.String()
}

var people = map[string]any{"groups": []string{"people"}}

// published returns a key set in which a key is listed n times.
func published(t *testing.T, key crypto.PublicKey, n int, id string) []byte {
	t.Helper()
	body, err := json.Marshal(jose.JSONWebKeySet{Keys: slices.Repeat([]jose.JSONWebKey{{Key: key, KeyID: id}}, n)})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// forged returns an ID token that nobody has signed.
func forged(alg, claims string) func(string) string {
	part := base64.RawURLEncoding.EncodeToString
	token := part([]byte(`{"alg":"`+alg+`"}`)) + "." + part([]byte(claims)) + "." +
		part(make([]byte, map[string]int{"ES512": 132, "RS256": 512}[alg]))
	return func(string) string { return token }
}

// TestCostlyProviders: a tenant's provider publishes keys and sends tokens that make
// an anonymous answer costly.
func TestCostlyProviders(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	large, err := rsa.GenerateKey(rand.Reader, 4096)
	if err != nil {
		t.Fatal(err)
	}
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		idp := gatewaytest.NewIDP(t)
		_, begin := provided(t, g, idp)
		tries := table.Sized(20, 4)
		r := table.New(t, "Costly identity providers, "+database(t))
		var in []string
		for _, attack := range []struct {
			name  string
			set   []byte
			token func(string) string
		}{
			{"4,659 keys", published(t, curve.Public(), 4659, ""), forged("ES512", "{}")},
			{"20 keys", published(t, curve.Public(), 20, ""), forged("ES512", "{}")},
			{"20 large keys", published(t, large.Public(), 20, ""), forged("RS256", "{}")},
			{"20 keys of one ID", published(t, large.Public(), 20, "first"), nil},
			{"a token of 30,000 groups", published(t, large.Public(), 20, ""),
				forged("RS256", `{"groups":["`+strings.Repeat(`people","`, 30_000)+`"]}`)},
			{"a token of 5 MB", nil, forged("RS256", strings.Repeat(" ", 4<<20))},
		} {
			idp.Publish(attack.set)
			idp.Misbehave(nil, attack.token)
			costs(r, "processor time of a log-in: "+attack.name, tries, func(int) {
				if res := g.Nobody().LogInBy(t, idp, begin, people); gatewaytest.Notice(res) != "sso_failed" {
					in = append(in, fmt.Sprint(attack.name, ": ", res.Status))
				}
			})
		}
		r.Didf("%d log-ins of each kind", tries)
		r.None("log-ins that were not refused", in)
	})
}

// database names the database of a test by gatewaytest.Each.
func database(t *testing.T) string { return t.Name()[strings.LastIndex(t.Name(), "/")+1:] }

// TestCrowdedProvider: strangers send made-up answers to a provider that takes its
// time, while people log in by it, half of them in a browser that it has let in
// before.
func TestCrowdedProvider(t *testing.T) {
	const strangers = 24
	gatewaytest.Each(t, func(t *testing.T, g *gatewaytest.Gateway) {
		idp := gatewaytest.NewIDP(t)
		_, begin := provided(t, g, idp)
		r := table.New(t, "A provider's places, "+database(t))
		known := g.Nobody()
		known.LogInBy(t, idp, begin, people)
		idp.Slow(300 * time.Millisecond)
		stop := make(chan struct{})
		var all sync.WaitGroup
		made := make([]int, strangers)
		for i := range strangers {
			all.Go(func() {
				for ; ; made[i]++ {
					select {
					case <-stop:
						return
					default:
					}
					s := g.Nobody()
					res, _ := s.Get(t, begin)
					asked, err := url.Parse(res.Header.Get("Location"))
					if err != nil {
						return
					}
					state := asked.Query().Get("state")
					s.Get(t, begin+account.SSOBack+"?"+url.Values{"code": {"made-up"}, "state": {state}}.Encode())
				}
			})
		}
		attempts := table.Sized(20, 6)
		var failed []string
		var took []time.Duration
		for i := range attempts {
			browser := known
			if i%2 == 1 {
				browser = g.Nobody()
			}
			start := time.Now()
			res := browser.LogInBy(t, idp, begin, people)
			if res.Header.Get("Location") != "/dashboard" {
				failed = append(failed, res.Status+" "+gatewaytest.Notice(res))
			}
			if i%2 == 0 {
				took = append(took, time.Since(start))
			}
		}
		close(stop)
		all.Wait()
		n := 0
		for _, m := range made {
			n += m
		}
		r.Didf("%d made-up answers of %d strangers beside %d log-ins", n, strangers, attempts)
		r.None("log-ins that failed", failed)
		r.Within("95 of 100 in a known browser took", quantile(took, 0.95), 2*time.Second)
	})
}
