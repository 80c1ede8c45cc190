package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"agegate/internal/app"
	"agegate/internal/app/config"
	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/move"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

const exportHelp = `Write a tenant with everything that belongs to it into a file, for agegate tenant
import: settings, keys, secrets, sessions, webhooks still to be delivered, credit,
ledger, audit log and who its members are. From then on nothing about the tenant
changes here, which keeps the two places from acting for it at the same time: calls
are answered with 503 and Retry-After. Gateways may keep running. The command waits
for webhooks that are being delivered; it can be repeated.

The file is encrypted with a passphrase of at least 12 bytes (age, scrypt). It is
read from AGEGATE_MOVE_PASSPHRASE, or from the file of --passphrase-file, or asked
for. Delete the file when the tenant has arrived.

To go on here instead, run agegate tenant stay; but only if the file was not
imported anywhere.`

const importHelp = `Bring in a tenant that agegate tenant export wrote. IDs, keys, secrets and links stay
the same; secrets are sealed under this place's AGEGATE_SECRET_KEY. The whole file is
checked before anything is written, and nothing is written if a tenant or row of it
is there already. Gateways may keep running: the tenant is in use once all of it is
there. A run that was stopped can be repeated; a repeated one changes nothing.

Members are invited: their invitations are shown only once. If the hosted page's
host is another one than before, an open check goes on in the browser that next
opens its link.`

// passphraseName is the variable of the passphrase of a tenant's file.
const passphraseName = "AGEGATE_MOVE_PASSPHRASE" //nolint:gosec // a name, no secret

// passphrase is where the passphrase of a tenant's file comes from.
type passphrase struct {
	cli  *cli
	file string
}

func (p *passphrase) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.file, "passphrase-file", "", "file whose first line is the passphrase")
}

// read returns the passphrase. It asks on a terminal, twice if it is new.
func (p *passphrase) read(cmd *cobra.Command, isNew bool) (string, error) {
	if p.file != "" {
		text, err := os.ReadFile(p.file)
		if err != nil {
			return "", errors.New("--passphrase-file: the file cannot be read")
		}
		first, _, _ := bytes.Cut(text, []byte("\n"))
		return string(bytes.TrimSuffix(first, []byte("\r"))), nil
	}
	if text, ok := p.cli.env(passphraseName); ok && text != "" {
		return text, nil
	}
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) {
		return "", errors.New("give the passphrase in " + passphraseName + " or by --passphrase-file")
	}
	ask := func(prompt string) (string, error) {
		fmt.Fprint(cmd.ErrOrStderr(), prompt)
		text, err := term.ReadPassword(in)
		fmt.Fprintln(cmd.ErrOrStderr())
		return string(text), err
	}
	first, err := ask("Passphrase: ")
	if err != nil || !isNew {
		return first, err
	}
	again, err := ask("Again: ")
	if err == nil && again != first {
		err = errors.New("the two are not the same")
	}
	return first, err
}

// withMoves runs fn with the service that moves tenants.
func (c *cli) withMoves(ctx context.Context, fn func(*move.Service, operator, config.Config) error) error {
	return c.withDatabase(ctx, func(db *store.Store, cfg config.Config) error {
		op, err := newOperator(db, cfg)
		if err != nil {
			return err
		}
		if err := app.CheckSecretKey(ctx, op.tenants); err != nil {
			return err
		}
		return fn(move.NewService(db, op.sealer, rand.Reader, now), op, cfg)
	}, config.SecretKeyName)
}

func (c *cli) tenantExport() *cobra.Command {
	var out string
	p := &passphrase{cli: c}
	cmd := &cobra.Command{
		Use: "export TENANT_ID --out FILE", Short: "Write a tenant that moves to another database into a file",
		Long: exportHelp,
		Args: exactlyOneID("TENANT_ID"),
	}
	cmd.Flags().StringVar(&out, "out", "", "the file")
	_ = cmd.MarkFlagRequired("out")
	p.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := idArgument(args)
		if err != nil {
			return err
		}
		text, err := p.read(cmd, true)
		if err != nil {
			return err
		}
		return c.withMoves(cmd.Context(), func(s *move.Service, op operator, cfg config.Config) error {
			counts, err := exportFile(out, func(w io.Writer) (move.Counts, error) {
				return s.Export(cmd.Context(), op.actor, id, cfg.VerifyURL, text, w)
			})
			if err != nil {
				return missing("tenant", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Tenant %s is in %s: %s.\nIts calls are answered with 503 here now.\n", id, out,
				counts)
			return nil
		})
	}
	return cmd
}

// exportFile writes a file that only its owner can read. It exists only once it is complete.
func exportFile(path string, write func(io.Writer) (move.Counts, error)) (counts move.Counts, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".agegate-export-*")
	if err != nil {
		return nil, errors.New("--out: the file cannot be created")
	}
	defer os.Remove(file.Name()) //nolint:errcheck // renamed by now, unless there was an error
	counts, err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return counts, os.Rename(file.Name(), path)
}

func (c *cli) tenantImport() *cobra.Command {
	p := &passphrase{cli: c}
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Bring in a tenant from another database", Long: importHelp, Args: cobra.ExactArgs(1),
	}
	p.add(cmd)
	out := outputFlag(cmd, oneObject)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := os.Open(args[0])
		if err != nil {
			return errors.New("the file cannot be read")
		}
		defer file.Close() //nolint:errcheck // it was only read
		text, err := p.read(cmd, false)
		if err != nil {
			return err
		}
		return c.withMoves(cmd.Context(), func(s *move.Service, op operator, cfg config.Config) error {
			done, err := s.Import(cmd.Context(), op.actor, cfg.VerifyURL, text, file)
			if err != nil {
				return err
			}
			return out.print(importedTenant(done, cfg.DashboardURL), func(w io.Writer) {
				if done.Already {
					fmt.Fprintf(w, "Tenant %s has arrived already.\n", done.Tenant)
					return
				}
				fmt.Fprintf(w, "Tenant %s has arrived: %s.\n", done.Tenant, done.Counts)
				for _, i := range done.Invited {
					fmt.Fprintf(w, "Invitation\t%s\t%s\t%s\n", i.Role, tenant.Visible(i.Email),
						cfg.DashboardURL+account.LinkPath+i.Token)
				}
			})
		})
	}
	return cmd
}

// arrivedTenant is the output of tenant import.
type arrivedTenant struct {
	TenantID    uuid.UUID    `json:"tenant_id"`
	Already     bool         `json:"already"`
	Records     move.Counts  `json:"records"`
	Invitations []invitation `json:"invitations"`
}

// invitation is a member's invitation to the new place.
type invitation struct {
	Email string       `json:"email"`
	Role  account.Role `json:"role"`
	URL   string       `json:"url"`
}

func importedTenant(done move.Imported, dashboard string) arrivedTenant {
	out := arrivedTenant{done.Tenant, done.Already, done.Counts, []invitation{}}
	for _, i := range done.Invited {
		out.Invitations = append(out.Invitations, invitation{i.Email, i.Role, dashboard + account.LinkPath + i.Token})
	}
	return out
}

const forwardHelp = `Lead browsers that open an exported tenant's hosted pages here to the same path at
its new place (307), so that checks which were open during the move can go on. Run
it once agegate tenant import has finished there. --to is the AGEGATE_VERIFY_URL of
the new place. Calls of the API are not forwarded: many clients drop the key when
they are redirected to another host, so give the merchant the new address.

Keep the old place running as long as links may be open: a session is open for at
most a day.`

func (c *cli) tenantForward() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "forward TENANT_ID --to URL", Short: "Lead the open pages of a tenant that has moved to its new place",
		Long: forwardHelp,
		Args: exactlyOneID("TENANT_ID"),
	}
	cmd.Flags().StringVar(&to, "to", "", "address of the hosted page at the new place")
	_ = cmd.MarkFlagRequired("to")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := idArgument(args)
		if err != nil {
			return err
		}
		origin, err := config.Origin(to)
		if err != nil {
			return fmt.Errorf("--to: %w", err)
		}
		return c.withMoves(cmd.Context(), func(s *move.Service, op operator, cfg config.Config) error {
			if origin == cfg.VerifyURL {
				return errors.New("--to: is the address of this place")
			}
			if err := s.Forward(cmd.Context(), op.actor, id, origin); err != nil {
				return missing("tenant", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Open pages of tenant %s lead to %s.\n", id, origin)
			return nil
		})
	}
	return cmd
}

func (c *cli) tenantStay() *cobra.Command {
	return &cobra.Command{
		Use: "stay TENANT_ID", Short: "Take an exported tenant back into use here, if its file is not imported anywhere",
		Args: exactlyOneID("TENANT_ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := idArgument(args)
			if err != nil {
				return err
			}
			return c.withMoves(cmd.Context(), func(s *move.Service, op operator, _ config.Config) error {
				if err := s.Stay(cmd.Context(), op.actor, id); err != nil {
					return missing("tenant", err)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "Tenant %s stays. Delete its file.\n", id)
				return nil
			})
		},
	}
}
