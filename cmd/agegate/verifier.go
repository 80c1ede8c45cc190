package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app"
	"agegate/internal/app/config"
	"agegate/internal/check/document"
	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/fault"
	"agegate/internal/store"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) verifierCommand() *cobra.Command {
	return terminal.Group("verifier", "Manage the keys that say to wallets who asks",
		`Manage the keys that say to wallets who asks. EUDI wallets, Google Wallet and
strict ISO wallets answer only requests that a verifier's key signs, whose
certificate they know. Without a key, requests are not signed. A tenant's key goes
before that of the instance. The EU's age verification app is never sent one.`,
		c.verifierCSR(), c.verifierImport(), c.verifierList(), c.verifierRotate(), c.verifierRemove(), c.verifierRoot(),
		c.verifierSign())
}

// withVerifiers runs fn on the verifiers' keys in the configured database. host is the host of the verification pages.
func (c *cli) withVerifiers(ctx context.Context, fn func(v *document.Verifiers, host string) error) error {
	return c.withDatabase(ctx, func(db *store.Store, cfg config.Config) error {
		sealer, err := app.NewSealer(cfg)
		if err != nil {
			return err
		}
		host := ""
		if u, err := url.Parse(cfg.VerifyURL); err == nil {
			host = u.Hostname()
		}
		return fn(document.NewVerifiers(db, sealer, now), host)
	}, config.SecretKeyName)
}

// verifierFlags describe a key to create.
type verifierFlags struct {
	tenant, clientID       string
	logo, privacy, display string
	document.NewVerifier
}

func (f *verifierFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.tenant, "tenant", "",
		"ID of the tenant whose sessions use the key (default: every tenant without one)")
	flags.StringVar(&f.Name, "name", "", "the verifier's name, as its certificate says it")
	flags.StringVar(&f.Host, "host", "", "host of the verification pages (default: that of AGEGATE_VERIFY_URL)")
	flags.StringVar(&f.clientID, "client-id", "x509_hash", "how requests name the verifier: x509_hash or x509_san_dns")
	flags.StringVar(&f.Curve, "curve", "p256", "the key's curve: p256 or p384")
	flags.StringVar(&f.display, "display-name", "",
		"name that Google Wallet shows; adds Google's metadata to the certificate")
	flags.StringVar(&f.logo, "logo-uri", "", "address of the logo that Google Wallet shows")
	flags.StringVar(&f.privacy, "privacy-uri", "", "address of the privacy policy that Google Wallet shows")
	_ = cmd.MarkFlagRequired("name")
}

func (f *verifierFlags) read(host string) (n document.NewVerifier, err error) {
	n = f.NewVerifier
	n.Host = cmp.Or(n.Host, host)
	switch f.clientID {
	case "x509_hash":
	case "x509_san_dns":
		n.ByHost = true
	default:
		return n, errors.New("--client-id must be x509_hash or x509_san_dns")
	}
	if f.display != "" {
		n.Display = &wallet.Display{Name: f.display, LogoURI: f.logo, PrivacyURI: f.privacy}
	}
	n.TenantID, err = tenantOf(f.tenant)
	return n, err
}

// tenantOf parses a tenant's ID; empty stands for the instance.
func tenantOf(text string) (*uuid.UUID, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // the instance
	}
	id, err := idOf("--tenant", text, tenantsListed)
	return &id, err
}

// listedVerifier is one key as the verifier commands print it.
type listedVerifier struct {
	ID       uuid.UUID  `json:"id"`
	TenantID *uuid.UUID `json:"tenant_id"` // null: the instance's
	Role     string     `json:"role"`
	Name     string     `json:"name"`
	Host     string     `json:"host"`
	State    string     `json:"state"`
	NotAfter *time.Time `json:"not_after"` // null: its certificate was not imported yet, or names no end
	PEM      string     `json:"pem,omitempty"`
}

func fromVerifier(v document.VerifierKey, text []byte) listedVerifier {
	return listedVerifier{v.ID, v.TenantID, v.Role, v.Name, v.Host, v.State, v.NotAfter, string(text)}
}

// fromRegistration lists a registration certificate like a key.
func fromRegistration(r document.Registration) listedVerifier {
	return listedVerifier{ID: r.ID, TenantID: r.TenantID, Role: "registration", State: document.VerifierActive,
		NotAfter: r.NotAfter}
}

// line is the row of verifier list.
func (v listedVerifier) line() string {
	owner, until := "instance", "-"
	if v.TenantID != nil {
		owner = v.TenantID.String()
	}
	if v.NotAfter != nil {
		until = untilOf(*v.NotAfter)
	}
	return strings.Join([]string{v.ID.String(), owner, v.Role, v.State, until, v.Name}, "  ")
}

func (c *cli) verifierCSR() *cobra.Command {
	return c.newVerifier("csr", "Make a key and print a request for its certificate",
		func(ctx context.Context, out *terminal.Output, v *document.Verifiers, n document.NewVerifier) error {
			key, request, err := v.Request(ctx, commandLine(), n)
			return printRequest(out, key, request, err)
		})
}

// newVerifier returns a command that makes a key as verifierFlags describe it.
func (c *cli) newVerifier(
	use, short string, create func(context.Context, *terminal.Output, *document.Verifiers, document.NewVerifier) error,
) *cobra.Command {
	var f verifierFlags
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs}
	f.add(cmd)
	return terminal.Printing(cmd, terminal.OneObject, func(_ []string, out *terminal.Output) error {
		return c.withVerifiers(cmd.Context(), func(v *document.Verifiers, host string) error {
			n, err := f.read(host)
			if err != nil {
				return err
			}
			return create(cmd.Context(), out, v, n)
		})
	})
}

func (c *cli) verifierImport() *cobra.Command {
	var registration, tenant string
	cmd := &cobra.Command{
		Use: "import ID FILE", Short: "Use a key, given its certificates in PEM; or send a registration certificate",
		Long: `Use a key. FILE holds its certificate and those up to the authority's, in this
order. The key replaces an earlier one.

With --registration and without ID and FILE: send a registration certificate (a JWT
of the type rc-wrp+jwt) with the signed requests of a tenant, or of every tenant
without one. It replaces an earlier one. It must name the organizationIdentifier of
the certificate by which the requests are signed, as its sub or intermediary.sub.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if registration != "" {
				return cobra.NoArgs(cmd, args)
			}
			if tenant != "" {
				return errors.New("--tenant goes with --registration: a key has its tenant since agegate verifier csr")
			}
			return cobra.ExactArgs(2)(cmd, args)
		},
	}
	cmd.Flags().StringVar(&registration, "registration", "", "file with a registration certificate")
	cmd.Flags().StringVar(&tenant, "tenant", "",
		"ID of the tenant whose registration certificate it is (default: that of the instance)")
	return terminal.Printing(cmd, terminal.OneObject, func(args []string, out *terminal.Output) error {
		if registration != "" {
			return c.importRegistration(cmd.Context(), out, tenant, registration)
		}
		id, err := idOf("the ID", args[0], "agegate verifier list prints it")
		if err != nil {
			return err
		}
		chain, err := readCertificate(args[1])
		if err != nil {
			return err
		}
		return c.withVerifiers(cmd.Context(), func(v *document.Verifiers, _ string) error {
			key, err := v.Import(cmd.Context(), commandLine(), id, chain)
			return printActive(out, key, missing("key", err))
		})
	})
}

func (c *cli) importRegistration(ctx context.Context, out *terminal.Output, tenant, path string) error {
	owner, err := tenantOf(tenant)
	if err != nil {
		return err
	}
	text, err := readCertificate(path)
	if err != nil {
		return err
	}
	return c.withVerifiers(ctx, func(v *document.Verifiers, _ string) error {
		r, err := v.Register(ctx, commandLine(), owner, text)
		if err != nil {
			return missing("key that signs requests", err)
		}
		return out.Print(fromRegistration(r), func(w io.Writer) {
			until := "without an end"
			if r.NotAfter != nil {
				until = "until " + r.NotAfter.Format(time.DateOnly)
			}
			fmt.Fprintf(w, "Registration certificate %s is sent with signed requests, %s.\n", r.ID, until)
		})
	})
}

// printRequest prints a key that waits for its certificate, unless err.
func printRequest(out *terminal.Output, key document.VerifierKey, request []byte, err error) error {
	if err != nil {
		return err
	}
	return out.Print(fromVerifier(key, request), func(w io.Writer) {
		fmt.Fprintf(w, "%sKey %s waits for its certificate: agegate verifier import %s FILE\n", request, key.ID, key.ID)
	})
}

// printActive prints a key that is in use now, unless err.
func printActive(out *terminal.Output, key document.VerifierKey, err error) error {
	if err != nil {
		return err
	}
	return out.Print(fromVerifier(key, nil), func(w io.Writer) {
		fmt.Fprintf(w, "Key %s signs requests until %s.\n", key.ID, key.NotAfter.Format(time.DateOnly))
	})
}

func (c *cli) verifierRotate() *cobra.Command {
	var tenant string
	cmd := &cobra.Command{
		Use: "rotate", Short: "Make the next key and print a request for its certificate", Args: cobra.NoArgs,
		Long: `Make a key like the one in use. The one in use signs until the certificate of the
new one is imported. A shopper whose wallet is being asked at that moment has to
ask again.`,
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "ID of the tenant whose key it is (default: that of the instance)")
	return terminal.Printing(cmd, terminal.OneObject, func(_ []string, out *terminal.Output) error {
		owner, err := tenantOf(tenant)
		if err != nil {
			return err
		}
		return c.withVerifiers(cmd.Context(), func(v *document.Verifiers, _ string) error {
			key, request, err := v.Rotate(cmd.Context(), commandLine(), owner)
			return printRequest(out, key, request, missing("key in use", err))
		})
	})
}

func (c *cli) verifierList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the keys and the registration certificates", Args: cobra.NoArgs}
	return terminal.Printing(cmd, terminal.OneArray, func(_ []string, out *terminal.Output) error {
		return c.withVerifiers(cmd.Context(), func(v *document.Verifiers, _ string) error {
			keys, err := v.List(cmd.Context())
			registrations, failed := v.Registrations(cmd.Context())
			if err = errors.Join(err, failed); err != nil {
				return err
			}
			listed := []listedVerifier{}
			for _, key := range keys {
				listed = append(listed, fromVerifier(key, nil))
			}
			for _, r := range registrations {
				listed = append(listed, fromRegistration(r))
			}
			return out.Print(listed, func(w io.Writer) {
				for _, v := range listed {
					fmt.Fprintln(w, v.line())
				}
			})
		})
	})
}

func (c *cli) verifierRemove() *cobra.Command {
	const short = "Delete a key or a registration certificate"
	return idCommand("remove ID", short, "", func(cmd *cobra.Command, id uuid.UUID) error {
		return c.withVerifiers(cmd.Context(), func(v *document.Verifiers, _ string) error {
			removed := "Key"
			err := v.Remove(cmd.Context(), commandLine(), id)
			if fault.CodeOf(err) == fault.NotFound {
				removed, err = "Registration certificate", v.Unregister(cmd.Context(), commandLine(), id)
			}
			return confirm(cmd, missing("key or registration certificate", err), "%s %s is deleted.\n", removed, id)
		})
	})
}

func (c *cli) verifierRoot() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "root", Short: "Make the operator's own root, to be registered with wallets", Args: cobra.NoArgs,
		Long: `Make the operator's own root and print its certificate. Google registers a
verifier registrar's root once; agegate verifier sign then makes a certificate for
each tenant.`,
	}
	cmd.Flags().StringVar(&name, "name", "", "the registrar's name")
	_ = cmd.MarkFlagRequired("name")
	return terminal.Printing(cmd, terminal.OneObject, func(_ []string, out *terminal.Output) error {
		return c.withVerifiers(cmd.Context(), func(v *document.Verifiers, host string) error {
			key, certificate, err := v.NewRegistrar(cmd.Context(), commandLine(), name, host)
			if err != nil {
				return err
			}
			return out.Print(fromVerifier(key, certificate), func(w io.Writer) { fmt.Fprintf(w, "%s", certificate) })
		})
	})
}

func (c *cli) verifierSign() *cobra.Command {
	return c.newVerifier("sign", "Make a key with a certificate by the operator's root, and use it",
		func(ctx context.Context, out *terminal.Output, v *document.Verifiers, n document.NewVerifier) error {
			key, err := v.Sign(ctx, commandLine(), n)
			return printActive(out, key, missing("root (make it with agegate verifier root)", err))
		})
}
