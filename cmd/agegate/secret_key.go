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

func (c *cli) secretKeyCommand() *cobra.Command {
	return terminal.Group("secret-key", "Change the key that seals secrets in the database", "", c.secretKeyRotate())
}

const rotateHelp = `Reseal all secrets in the database under a new key. The current key is read from
AGEGATE_SECRET_KEY and the new one from AGEGATE_NEW_SECRET_KEY. The merchants'
secrets themselves do not change.

While the gateway runs:
  1. Set AGEGATE_NEW_SECRET_KEY in addition to AGEGATE_SECRET_KEY and restart every
     replica. From then on it seals under the new key and opens both.
  2. Run this command with the same two variables.
  3. Set AGEGATE_SECRET_KEY to the new key, remove AGEGATE_NEW_SECRET_KEY and
     restart every replica.
If the gateway is stopped, step 1 is not needed. A backup made before needs the old
key: keep it for as long as the backup.

The command can be stopped or killed at any time: run it again with the same two
keys. It changes nothing when neither key fits. To go back, run it with the two
keys swapped.

A replica that has only the old key cannot open what is sealed under the new one.
Until it is restarted with both, it answers a repeated Idempotency-Key with 500,
after step 2 it also fails the redirect of a pass, and it leaves webhooks to other
replicas. Create no tenants or secrets during step 1. If such a replica has sealed
anything under the old key meanwhile, run the command again before step 3.`

func (c *cli) secretKeyRotate() *cobra.Command {
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
	return cmd
}

// everySecond returns a function that prints the progress of a rotation, at
// most once a second.
func everySecond(w io.Writer) func(app.Resealed) {
	var last time.Time
	return func(r app.Resealed) {
		if time.Since(last) < time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(w, "%d signing secrets and %d verification links are done.\n",
			r.Secrets.Resealed+r.Secrets.Already, r.Links.Resealed+r.Links.Already+r.Links.Unopened)
	}
}

func writeResealed(w io.Writer, done app.Resealed) {
	fmt.Fprintf(w, "Signing secrets: %d sealed under the new key, %d were already under the new key.\n",
		done.Secrets.Resealed, done.Secrets.Already)
	fmt.Fprintf(w, "Verification links: %d sealed under the new key, %d were already under the new key.\n",
		done.Links.Resealed, done.Links.Already)
	if done.Apps != (credential.Resealing{}) {
		fmt.Fprintf(w, "Authenticator apps: %d sealed under the new key, %d were already under the new key.\n",
			done.Apps.Resealed, done.Apps.Already)
	}
	if done.Clients != (credential.Resealing{}) {
		fmt.Fprintf(w, "Client secrets of identity providers: %d sealed under the new key, %d were already under the new "+
			"key.\n", done.Clients.Resealed, done.Clients.Already)
	}
	if done.Readers != (credential.Resealing{}) {
		fmt.Fprintf(w, "Keys of verifiers: %d sealed under the new key, %d were already under the new key.\n",
			done.Readers.Resealed, done.Readers.Already)
	}
	if done.HTTPS != (credential.Resealing{}) {
		fmt.Fprintf(w, "Keys of certificates: %d sealed under the new key, %d were already under the new key.\n",
			done.HTTPS.Resealed, done.HTTPS.Already)
	}
	if done.HTTPS.Unopened > 0 {
		fmt.Fprintf(w, "%d keys of certificates open under neither key: the gateway makes and orders new ones.\n",
			done.HTTPS.Unopened)
	}
	if done.Readers.Unopened > 0 {
		fmt.Fprintf(w, "%d keys of verifiers open under neither key: remove them and make new ones with agegate verifier "+
			"csr.\n", done.Readers.Unopened)
	}
	if done.Clients.Unopened > 0 {
		fmt.Fprintf(w, "%d client secrets open under neither key: their owners have to enter them again under Team, Single "+
			"sign-on.\n", done.Clients.Unopened)
	}
	if done.Apps.Unopened > 0 {
		fmt.Fprintf(w, "%d authenticator apps open under neither key: their users need agegate user recover.\n",
			done.Apps.Unopened)
	}
	if done.Links.Unopened > 0 {
		fmt.Fprintf(w, "%d verification links open under neither key; they are forgotten within a day.\n",
			done.Links.Unopened)
	}
	fmt.Fprintln(w, "Now set AGEGATE_SECRET_KEY to the new key, remove AGEGATE_NEW_SECRET_KEY and restart every replica.")
}
