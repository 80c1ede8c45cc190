package doctor_test

import (
	"testing"

	"agegate/internal/app/doctor"
	"agegate/internal/store/pgtest"
)

// TestKeyOfReplicas: a running gateway that cannot open the secrets is a problem, although this process can open them.
func TestKeyOfReplicas(t *testing.T) {
	g := start(t, pgtest.URL(t))
	want(t, examine(t, at(g, g.URL)...), "secret key", doctor.OK, "compared with nothing")
	wrong := append(at(g, g.URL), "AGEGATE_SECRET_KEY="+otherKey)
	want(t, examine(t, wrong...), "secret key", doctor.Problem, "the gateway that runs has another key")
	g.Shop(t, "", nil)
	want(t, examine(t, at(g, g.URL)...), "secret key", doctor.OK, "opens")
	changing := append(at(g, g.URL), "AGEGATE_NEW_SECRET_KEY="+otherKey)
	want(t, examine(t, changing...), "secret key", doctor.Warning, "a change of the secret key is under way")
	g.Exec(t, "UPDATE replicas SET keys = 'aabbccdd'")
	want(t, examine(t, changing...), "secret key", doctor.Problem, "a running gateway cannot open the secrets")
	g.Exec(t, "UPDATE replicas SET keys = ''") // an earlier release reports none
	want(t, examine(t, at(g, g.URL)...), "secret key", doctor.OK, "opens")
}
