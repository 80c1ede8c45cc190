package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app/config"
	"agegate/internal/check/document"
	"agegate/internal/check/document/wallet"
	"agegate/internal/store"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) trustCommand() *cobra.Command {
	return terminal.Group("trust", "Manage the issuers whose documents wallets may present",
		`Manage the issuers whose documents wallets may present. None is trusted at first:
get the certificate of each issuer from a source that you trust, such as the
issuer's own pages or a published trust list.`,
		c.trustAdd(), c.trustList(), c.trustRemove(), c.trustSource(), c.trustSync(), c.trustImportVICAL())
}

// withTrust runs fn on the trusted issuers of the configured database.
func (c *cli) withTrust(ctx context.Context, fn func(*document.Trust) error) error {
	return c.withDatabase(ctx, func(db *store.Store, _ config.Config) error { return fn(document.NewTrust(db, now)) })
}

// docTypeNames are short names for the kinds of documents.
var docTypeNames = map[string]string{
	"mdl": wallet.DocTypeMDL, "proof-of-age": wallet.DocTypeProofOfAge,
	"photo-id": wallet.DocTypePhotoID, "id-card": wallet.DocTypeIDCard, "pid": wallet.DocTypePID,
}

// maxCertificateBytes is far more than a PEM certificate needs.
const maxCertificateBytes = 64 << 10

// listedIssuer is one issuer as the trust commands print it.
type listedIssuer struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	Country     string    `json:"country"`
	DocType     string    `json:"doctype"`
	Fingerprint string    `json:"fingerprint"`  // SHA-256 of the certificate, hexadecimal
	SignerUsage string    `json:"signer_usage"` // empty: no usage is required
	NotBefore   time.Time `json:"not_before"`
	NotAfter    time.Time `json:"not_after"`
	// List is the published list from which the issuer comes; null: an operator added it.
	List *issuerList `json:"list"`
}

// issuerList is the list of an issuer.
type issuerList struct {
	ID    uuid.UUID `json:"id"`
	Name  string    `json:"name"`
	Until time.Time `json:"until"` // from then on the issuer is not trusted
}

func fromIssuer(i document.TrustedIssuer) listedIssuer {
	listed := listedIssuer{i.ID, i.Name, i.Country, i.DocType, fmt.Sprintf("%x", i.Fingerprint), i.SignerUsage,
		i.NotBefore, i.NotAfter, nil}
	if i.List.ID != uuid.Nil {
		listed.List = &issuerList{i.List.ID, i.List.Name, i.List.Until}
	}
	return listed
}

func (c *cli) trustAdd() *cobra.Command {
	var n document.NewIssuer
	cmd := &cobra.Command{
		Use: "add FILE", Short: "Trust an issuer, given its certificate in PEM",
		Long: `Trust an issuer. FILE holds one certificate in PEM: that of an authority which
certifies document signers (for mobile driving licences the IACA), or that of a
document signer.`,
		Args: exactlyOne("FILE"),
	}
	flags := cmd.Flags()
	flags.StringVar(&n.Name, "name", "", "the issuer's name")
	flags.StringVar(&n.Country, "country", "", "its country, as two letters (default: as in the certificate)")
	flags.StringVar(&n.DocType, "doctype", "",
		"kind of document: mdl, proof-of-age, photo-id, id-card, pid, or the full name of one")
	flags.StringVar(&n.SignerUsage, "signer-usage", "",
		"OID that document signers' certificates must have, or any (default: that of ISO 18013-5 for mdl, any for others)")
	_ = cmd.MarkFlagRequired("name")
	_ = cmd.MarkFlagRequired("doctype")
	return terminal.Printing(cmd, terminal.OneObject, func(args []string, out *terminal.Output) (err error) {
		if full, ok := docTypeNames[n.DocType]; ok {
			n.DocType = full
		}
		if n.PEM, err = readCertificate(args[0]); err != nil {
			return err
		}
		return c.withTrust(cmd.Context(), func(trust *document.Trust) error {
			issuer, err := trust.Add(cmd.Context(), commandLine(), n)
			if err != nil {
				return err
			}
			return out.Print(fromIssuer(issuer), func(w io.Writer) {
				fmt.Fprintf(w, "Issuer %s is trusted for %s.\nSHA-256 of its certificate: %x\n", issuer.ID, issuer.DocType,
					issuer.Fingerprint)
			})
		})
	})
}

func readCertificate(path string) ([]byte, error) {
	return readFile(path, "the certificate's file", maxCertificateBytes)
}

func (c *cli) trustList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the trusted issuers", Args: cobra.NoArgs}
	return terminal.Printing(cmd, terminal.OneArray, func(_ []string, out *terminal.Output) error {
		return c.withTrust(cmd.Context(), func(trust *document.Trust) error {
			return terminal.PrintList(out, fromIssuer, "ID\tCOUNTRY\tNAME\tDOCUMENT\tVALID FROM\tVALID UNTIL\tLIST",
				func(i listedIssuer) []any {
					return []any{i.ID, i.Country, strings.ReplaceAll(i.Name, "\t", " "), i.DocType, i.NotBefore.Format(time.DateOnly),
						untilOf(i.NotAfter), listOf(i)}
				})(trust.List(cmd.Context()))
		})
	})
}

// listOf names the list of an issuer.
func listOf(i listedIssuer) string {
	if i.List == nil {
		return "-"
	}
	return i.List.Name + expired(i.List.Until)
}

func untilOf(t time.Time) string { return t.Format(time.DateOnly) + expired(t) }

func expired(end time.Time) string {
	if now().Before(end) {
		return ""
	}
	return " (expired)"
}

func (c *cli) trustRemove() *cobra.Command {
	return idCommand("remove ID", "End the trust in an issuer", "", func(cmd *cobra.Command, id uuid.UUID) error {
		return c.withTrust(cmd.Context(), func(trust *document.Trust) error {
			err := trust.Remove(cmd.Context(), commandLine(), id)
			return confirm(cmd, missing("issuer", err), "Issuer %s is no longer trusted.\n", id)
		})
	})
}
