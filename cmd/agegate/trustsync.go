package main

import (
	"fmt"
	"io"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/check/document"
	"agegate/internal/check/document/trustlist"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) trustImportVICAL() *cobra.Command {
	var name, signer string
	cmd := &cobra.Command{
		Use: "import-vical FILE", Short: "Trust the issuers of a VICAL, a signed list of driving licences' authorities",
		Long: `Trust the issuers of a VICAL (ISO/IEC 18013-5, Annex C). Get it from its provider,
and import each new one under the same name. A VICAL that names no next one is
used for 90 days from its date.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&name, "name", "", "the list's name")
	cmd.Flags().StringVar(&signer, "signer", "",
		"file with the certificates, in PEM, of the list's signer or of the authority that certified it")
	_ = cmd.MarkFlagRequired("name")
	_ = cmd.MarkFlagRequired("signer")
	return terminal.Printing(cmd, terminal.OneObject, func(args []string, out *terminal.Output) error {
		raw, err := readList(args[0])
		if err != nil {
			return err
		}
		pinned, err := readCertificate(signer)
		if err != nil {
			return err
		}
		return c.withLists(cmd.Context(), func(lists *document.Lists) error {
			synced, err := lists.ImportVICAL(cmd.Context(), commandLine(), name, pinned, raw)
			if err != nil {
				return err
			}
			result := fromSynced(synced)
			return out.Print(result, func(w io.Writer) { printSynced(w, []syncResult{result}) })
		})
	})
}

// readList reads a published list from a file.
func readList(path string) ([]byte, error) {
	return readFile(path, "the list's file", trustlist.MaxBytes+1)
}

// syncResult is the result of a synchronisation as the commands print it.
type syncResult struct {
	ID         uuid.UUID `json:"id"`
	Name       string    `json:"name"`
	Sequence   int64     `json:"sequence"`
	NextUpdate time.Time `json:"next_update"`
	Issuers    int       `json:"issuers"`
	Added      int       `json:"added"`
	Removed    int       `json:"removed"`
	Skipped    int       `json:"skipped"` // entries that cannot be used
}

func fromSynced(s document.Synced) syncResult {
	return syncResult{s.List.ID, s.List.Name, s.List.Sequence, *s.List.NextUpdate, s.Issuers, s.Added, s.Removed,
		s.Skipped}
}

func printSynced(w io.Writer, results []syncResult) {
	for _, r := range results {
		fmt.Fprintf(w, "%s: number %d, valid until %s. Issuers trusted: %d; added: %d, removed: %d, not usable: %d.\n",
			r.Name, r.Sequence, r.NextUpdate.Format(time.DateOnly), r.Issuers, r.Added, r.Removed, r.Skipped)
	}
}
