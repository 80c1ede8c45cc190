package gatewaytest

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"agegate/internal/app"
	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/certificate"
	"agegate/internal/backoffice/mail"
	"agegate/internal/lab/verify"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/credential"
	"agegate/internal/rules/tenant"
	"agegate/internal/store/dbtest"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// A change of the secret key as in the help text, killed in the middle, has no
// effect that is visible outside the gateway.
func TestSecretKeyRotation(t *testing.T) {
	for dialect, url := range dbtest.URLs(t) {
		t.Run(dialect, func(t *testing.T) {
			r := &keyRotation{db: url(t), old: newSecretKey(t), next: newSecretKey(t)}
			g := Start(t, r.db, "AGEGATE_SECRET_KEY="+r.old)
			r.prepare(t, g)
			r.works(t, g)
			_, err := r.rotate(t, t.Context(), func() {})
			if err == nil || !strings.Contains(err.Error(), "nothing was changed") {
				t.Fatalf("with a running gateway that has only the old key: %v", err)
			}
			if before, after := r.count(t); before == 0 || after != 0 {
				t.Fatalf("a refused rotation: %d tenants under the old key, %d under the new", before, after)
			}
			g.Stop()

			// The rotation stops after its first batch.
			ctx, kill := context.WithCancel(t.Context())
			_, err = r.rotate(t, ctx, kill)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("the rotation was not stopped: %v", err)
			}
			if before, after := r.count(t); before == 0 || after == 0 {
				t.Fatalf("%d tenants under the old key and %d under the new: not in the middle", before, after)
			}
			g = Start(t, r.db, "AGEGATE_SECRET_KEY="+r.old, "AGEGATE_NEW_SECRET_KEY="+r.next)
			r.works(t, g)
			r.prepareMore(t, g)

			// Another rotation completes it while the gateway runs.
			done, err := r.rotate(t, t.Context(), func() {})
			if err != nil || done.Secrets.Resealed == 0 || done.Secrets.Already < 100 || done.Links.Resealed != 1 ||
				done.Links.Already != 1 || done.HTTPS.Resealed != 1 || done.Mails.Resealed != 1 {
				t.Errorf("finishing: %+v, %v", done, err)
			}
			if before, _ := r.count(t); before != 0 {
				t.Errorf("%d tenants are still under the old key", before)
			}
			r.works(t, g)
			g.Stop()

			g = Start(t, r.db, "AGEGATE_SECRET_KEY="+r.next)
			r.works(t, g)
			r.promotes(t, g)
			if done, err := r.rotate(t, t.Context(), func() {}); err != nil || done.Secrets.Resealed != 0 ||
				done.Links.Resealed != 0 || done.HTTPS != (credential.Resealing{Already: 1}) ||
				done.Mails != (credential.Resealing{Already: 1}) {
				t.Errorf("once more: %+v, %v", done, err)
			}
		})
	}
}

// keyRotation is a database whose secret key changes, and the credentials of its
// merchants.
type keyRotation struct {
	db, old, next string
	receiver      *Receiver
	shop          tenant.Credentials
	rotated       string // the shop's second test webhook secret
	staged        string // its staged test redirect secret
	keys          map[uuid.UUID][]byte
	created       map[string]string // answers by Idempotency-Key
	deliveries    int
	registrar     *x509.CertPool // the root of the key that signs requests to wallets
}

func newSecretKey(t *testing.T) string {
	t.Helper()
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(key)
}

// sealer seals under the first key and opens under all.
func (r *keyRotation) sealer(t *testing.T, keys ...string) *credential.Sealer {
	t.Helper()
	var raw [][]byte
	for _, k := range keys {
		b, err := base64.StdEncoding.DecodeString(k)
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, b)
	}
	s, err := credential.NewSealer(raw[0], rand.Reader, raw[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// prepare creates a shop with secrets in every stage of rotation, enough other
// tenants for several batches, and a session under an Idempotency-Key.
func (r *keyRotation) prepare(t *testing.T, g *Gateway) {
	t.Helper()
	r.receiver, r.created, r.keys = NewReceiver(t), map[string]string{}, map[uuid.UUID][]byte{}
	r.shop = g.Shop(t, r.receiver.URL, func(s *tenant.Tenant) { s.DocumentCheck = true })
	var err error
	if r.rotated, err = g.App.Tenants.RotateWebhookSecret(t.Context(), audit.System("test"), r.shop.Tenant.ID, false,
		72*time.Hour); err != nil {
		t.Fatal(err)
	}
	if r.staged, err = g.App.Tenants.StageRedirectSecret(t.Context(), audit.System("test"), r.shop.Tenant.ID,
		false); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		c := g.Shop(t, "", nil)
		raw, err := verify.Secret(c.Live.RedirectSecret)
		if err != nil {
			t.Fatal(err)
		}
		r.keys[c.Tenant.ID] = raw
	}
	r.created["before"] = g.Do(t, r.create("before"))
	r.register(t, g)
	sealed, err := r.sealer(t, r.old).Seal([]byte("a key"), "certificate|age.example.com")
	if err != nil {
		t.Fatal(err)
	}
	r.mail(t, g)
	own := certificate.Certificate{Name: "age.example.com", Sealed: sealed}
	if err := g.App.Store.SaveCertificate(t.Context(), own); err != nil {
		t.Fatal(err)
	}
}

// mail stores a mail that waits to be sent.
func (r *keyRotation) mail(t *testing.T, g *Gateway) {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	sealed, err := r.sealer(t, r.old).Seal([]byte("a mail"), "mail "+id.String())
	if err != nil {
		t.Fatal(err)
	}
	now := g.Clock.Now()
	if err := g.App.Store.UpdateAccounts(t.Context(), func(tx account.Tx) error {
		return tx.InsertMail(mail.Mail{ID: id, Kind: "invitation", Sealed: sealed, CreatedAt: now, DueAt: now.Add(time.Hour),
			ExpiresAt: now.Add(24 * time.Hour)})
	}); err != nil {
		t.Fatal(err)
	}
}

// prepareMore makes a session while both keys are set.
func (r *keyRotation) prepareMore(t *testing.T, g *Gateway) {
	t.Helper()
	r.created["during"] = g.Do(t, r.create("during"))
}

func (r *keyRotation) create(key string) Row {
	return Row{
		Name: "create " + key, Path: createPath, Key: r.shop.Live.APIKey, Body: `{"target_age":18}`,
		Status: http.StatusCreated,
		Header: map[string]string{"Idempotency-Key": key},
	}
}

// works checks everything that is signed or opened with a sealed secret.
func (r *keyRotation) works(t *testing.T, g *Gateway) {
	t.Helper()
	for id, want := range r.keys {
		if got, err := g.App.Tenants.RedirectKey(t.Context(), id, true); err != nil || string(got) != string(want) {
			t.Fatalf("the redirect secret of tenant %s: %v", id, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.created)) {
		if got := g.Do(t, r.create(key)); got != r.created[key] {
			t.Errorf("the repetition of %q is answered %s, the first was %s", key, got, r.created[key])
		}
	}
	s := g.Create(t, r.shop.Test.APIKey, 18)
	res, _ := g.Force(t, Browser(), s, "verified")
	g.checkRedirect(t, res, r.shop, s)
	r.deliveries++
	d := r.receiver.Wait(t, r.deliveries)[r.deliveries-1]
	for _, secret := range []string{r.shop.Test.WebhookSecret, r.rotated} {
		wh, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := wh.Verify(d.Body, d.Header); err != nil {
			t.Errorf("a webhook does not verify: %v", err)
		}
	}
	r.asks(t, g)
}

// promotes checks that the staged secret is still valid after the rotation.
func (r *keyRotation) promotes(t *testing.T, g *Gateway) {
	t.Helper()
	if err := g.App.Tenants.PromoteRedirectSecret(t.Context(), audit.System("test"), r.shop.Tenant.ID, false); err != nil {
		t.Fatal(err)
	}
	r.shop.Test.RedirectSecret = r.staged
	r.works(t, g)
}

// rotate runs the rotation on its own connection and calls after once the first
// batch is done.
func (r *keyRotation) rotate(t *testing.T, ctx context.Context, after func()) (done app.Resealed, err error) {
	t.Helper()
	s := dbtest.Open(t, r.db)
	sealer := r.sealer(t, r.next, r.old)
	tenants := tenant.NewService(s, sealer, tenant.CallbackRule{}, rand.Reader, time.Now)
	err = app.RotateSecretKey(ctx, audit.System("test"), tenants, s, sealer, time.Now, func(d app.Resealed) {
		done = d
		after()
	})
	return done, err
}

// count returns how many tenants' redirect secrets open under the old key alone
// and how many under the new one alone.
func (r *keyRotation) count(t *testing.T) (before, after int) {
	t.Helper()
	s := dbtest.Open(t, r.db)
	for key, n := range map[string]*int{r.old: &before, r.next: &after} {
		tenants := tenant.NewService(s, r.sealer(t, key), tenant.CallbackRule{}, rand.Reader, time.Now)
		for id := range r.keys {
			switch _, err := tenants.RedirectKey(t.Context(), id, true); {
			case err == nil:
				*n++
			case !errors.Is(err, credential.ErrSealed):
				t.Fatal(err)
			}
		}
	}
	return before, after
}
