package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app"
	"agegate/internal/app/config"
	"agegate/internal/rules/credential"

	"github.com/spf13/cobra"
)

const rotateHelp = `Reseal all secrets in the database under a new key. The current key is read from
AGEGATE_SECRET_KEY and the new one from AGEGATE_NEW_SECRET_KEY. The merchants'
secrets themselves do not change.

While the gateway runs:
  1. Set AGEGATE_NEW_SECRET_KEY in addition to AGEGATE_SECRET_KEY and restart every
     replica. From then on it seals under the new key and opens both.
  2. Run this command with the same two variables.
  3. Set AGEGATE_SECRET_KEY to the new key, remove AGEGATE_NEW_SECRET_KEY and
     restart every replica.
Restart every replica with both keys first: the command changes nothing while a
gateway runs that does not have the new key. One that was killed counts as running
for 90 seconds. If the gateway is stopped, step 1 is not needed. A backup made before
needs the old key: keep it for as long as the backup.

The command can be stopped or killed at any time: run it again with the same two
keys. It changes nothing when neither key fits. To go back, run it with the two
keys swapped.

A replica that has only the old key cannot open what is sealed under the new one.
One of 0.2.0 does not tell which keys it has, so the command does not notice it.
Until it is restarted with both, it answers a repeated Idempotency-Key with 500,
after step 2 it also fails the redirect of a pass, and it leaves webhooks to other
replicas. Create no tenants or secrets during step 1. If such a replica has sealed
anything under the old key meanwhile, run the command again before step 3.`

func (c *cli) secretKeyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "rotate", Short: "Seal everything under a new key", Long: rotateHelp, Args: cobra.NoArgs}
	out := terminal.OutputFlag(cmd, terminal.OneObject)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withOperator(cmd.Context(), func(op operator) error {
			var done app.Resealed
			show := everySecond(cmd.ErrOrStderr())
			err := app.RotateSecretKey(cmd.Context(), op.actor, op.tenants, op.store, op.sealer, now, func(r app.Resealed) {
				done = r
				show(r)
			})
			if err != nil && cmd.Context().Err() != nil {
				return errors.New("stopped before the end: run it again with the same two keys")
			}
			if err != nil {
				return err
			}
			return out.Print(done, func(w io.Writer) { writeResealed(w, done) })
		}, config.NewSecretKeyName)
	}
	return terminal.Group("secret-key", "Change the key that seals secrets in the database", "", cmd)
}

// everySecond returns a function that prints the progress of a rotation, at most once a second.
func everySecond(w io.Writer) func(app.Resealed) {
	var last time.Time
	return func(r app.Resealed) {
		if time.Since(last) < time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(w, "Signing secrets done: %d; verification links: %d.\n",
			r.Secrets.Resealed+r.Secrets.Already, r.Links.Resealed+r.Links.Already+r.Links.Unopened)
	}
}

// writeResealed says how many values of each kind were sealed again, and what to do about those that no key opens.
func writeResealed(w io.Writer, done app.Resealed) {
	for _, kind := range []struct {
		name   string
		done   credential.Resealing
		always bool
		advice string // for what opens under neither key
	}{
		{"Signing secrets", done.Secrets, true, ""},
		{"Verification links", done.Links, true, "a repeated Idempotency-Key of their sessions is answered with 500; they " +
			"are forgotten within a day"},
		{"Authenticator apps", done.Apps, false, "their users need agegate user recover"},
		{"Keys of verifiers", done.Readers, false, "remove them and make new ones with agegate verifier csr"},
		{"Mails that wait", done.Mails, false, "they are given up; make new links with agegate user recover, or invite " +
			"again"},
		{"Keys of certificates", done.HTTPS, false, "the gateway makes and orders new ones"},
	} {
		if kind.always || kind.done != (credential.Resealing{}) {
			fmt.Fprintf(w, "%s: %d sealed under the new key, %d were already under the new key.\n", kind.name,
				kind.done.Resealed, kind.done.Already)
		}
		if kind.done.Unopened > 0 {
			fmt.Fprintf(w, "%s: %d open under neither key: %s.\n", kind.name, kind.done.Unopened, kind.advice)
		}
	}
	fmt.Fprintln(w, "Now set AGEGATE_SECRET_KEY to the new key, remove AGEGATE_NEW_SECRET_KEY and restart every replica.")
	fmt.Fprintln(w, "Backups made before need the old key.")
}
