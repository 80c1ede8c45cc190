package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app"
	"agegate/internal/app/config"
	"agegate/internal/check/document"
	"agegate/internal/check/document/trustlist"
	"agegate/internal/rules/audit"
	"agegate/internal/store"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

// withLists runs fn on the published lists in the configured database.
func (c *cli) withLists(ctx context.Context, fn func(*document.Lists) error) error {
	return c.withDatabase(ctx, func(db *store.Store, cfg config.Config) error { return fn(app.NewLists(db, cfg, now)) })
}

func (c *cli) trustSource() *cobra.Command {
	return terminal.Group("source", "Manage the published lists of issuers that the gateway follows",
		`Manage the published lists of issuers that the gateway follows. A list counts only
if a certificate that you pin signed it: get this certificate from the publisher
by another way than the list.`,
		c.sourceAdd(), c.sourceList(), c.sourcePin(), c.sourceRemove())
}

// listedSource is one published list as the commands print it.
type listedSource struct {
	ID         uuid.UUID  `json:"id"`
	Name       string     `json:"name"`
	Format     string     `json:"format"` // av, lote or vical
	URL        string     `json:"url"`    // empty: it is imported from files
	DocType    string     `json:"doctype"`
	Sequence   int64      `json:"sequence"`
	IssuedAt   *time.Time `json:"issued_at"` // null before the first synchronisation, as the next two
	NextUpdate *time.Time `json:"next_update"`
	SyncedAt   *time.Time `json:"synced_at"`
	Failure    string     `json:"failure"` // why the last attempt failed; empty if it did not
}

func fromSource(l document.TrustList) listedSource {
	return listedSource{l.ID, l.Name, l.Format, l.URL, l.DocType, l.Sequence, l.IssuedAt, l.NextUpdate, l.SyncedAt,
		l.Failure}
}

func (c *cli) sourceAdd() *cobra.Command {
	n := document.NewList{Format: trustlist.FormatAV}
	var signer string
	cmd := &cobra.Command{
		Use: "add", Short: "Follow a published list", Args: cobra.NoArgs,
		Long: `Follow a published list: the EU's list of age verification providers (ETSI TS 119
612), or with --type a list of trusted entities (ETSI TS 119 602). agegate serve
fetches it about every six hours, agegate trust sync at once.`,
	}
	flags := cmd.Flags()
	flags.StringVar(&n.Name, "name", "", "the list's name")
	flags.StringVar(&n.URL, "url", "", "its address (default: none, it is imported from files)")
	flags.StringVar(&signer, "signer", "", "file with the certificates, in PEM, of which one signs the list")
	flags.StringVar(&n.ListType, "type", "", "type (LoTEType) of a list of trusted entities")
	flags.StringVar(&n.DocType, "doctype", "",
		"with --type, kind of the issuers' documents: mdl, proof-of-age, photo-id, id-card, pid, or the full name of one")
	_ = cmd.MarkFlagRequired("name")
	_ = cmd.MarkFlagRequired("signer")
	return terminal.Printing(cmd, terminal.OneObject, func(_ []string, out *terminal.Output) (err error) {
		if full, ok := docTypeNames[n.DocType]; ok {
			n.DocType = full
		}
		if n.ListType == "" && n.DocType != "" {
			return errors.New("--doctype needs --type: the EU's list is of proofs of age")
		}
		if n.ListType != "" {
			n.Format = trustlist.FormatLoTE
		}
		if n.PEM, err = readCertificate(signer); err != nil {
			return err
		}
		return c.withLists(cmd.Context(), func(lists *document.Lists) error {
			l, err := lists.Add(cmd.Context(), commandLine(), n)
			if err != nil {
				return err
			}
			return out.Print(fromSource(l), func(w io.Writer) {
				fmt.Fprintf(w, "List %s is followed. Fetch it now: agegate trust sync %s\n", l.ID, l.ID)
			})
		})
	})
}

func (c *cli) sourceList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the published lists that are followed", Args: cobra.NoArgs}
	return terminal.Printing(cmd, terminal.OneArray, func(_ []string, out *terminal.Output) error {
		return c.withLists(cmd.Context(), func(lists *document.Lists) error {
			return terminal.PrintList(out, fromSource, "ID\tNAME\tFORMAT\tNUMBER\tVALID UNTIL\tLAST ATTEMPT",
				func(l listedSource) []any {
					until, state := "-", "verified"
					if l.NextUpdate != nil {
						until = untilOf(*l.NextUpdate)
					} else {
						state = "none"
					}
					if l.Failure != "" {
						state = strings.ReplaceAll(l.Failure, "\n", " ")
					}
					return []any{l.ID, l.Name, l.Format, l.Sequence, until, state}
				})(lists.List(cmd.Context()))
		})
	})
}

func (c *cli) sourcePin() *cobra.Command {
	var signer string
	cmd := idCommand("pin ID", "Replace the pinned certificates of a published list",
		`Replace the pinned certificates of a published list. Its issuers stay trusted. Pin
the signer's next certificate together with the present one.`, func(cmd *cobra.Command, id uuid.UUID) error {
			pinned, err := readCertificate(signer)
			if err != nil {
				return err
			}
			return c.withLists(cmd.Context(), func(lists *document.Lists) error {
				err := lists.Pin(cmd.Context(), commandLine(), id, pinned)
				return confirm(cmd, missing("list", err), "List %s must be signed by one of these certificates.\n", id)
			})
		})
	cmd.Flags().StringVar(&signer, "signer", "", "file with the certificates, in PEM, of which one signs the list")
	_ = cmd.MarkFlagRequired("signer")
	return cmd
}

func (c *cli) sourceRemove() *cobra.Command {
	const short = "End the trust in a published list and its issuers"
	return idCommand("remove ID", short, "", func(cmd *cobra.Command, id uuid.UUID) error {
		return c.withLists(cmd.Context(), func(lists *document.Lists) error {
			err := lists.Remove(cmd.Context(), commandLine(), id)
			return confirm(cmd, missing("list", err), "List %s and its issuers are no longer trusted.\n", id)
		})
	})
}

func (c *cli) trustSync() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "sync [ID]", Short: "Fetch the published lists, or one of them, and apply them",
		Long: `Fetch the published lists, or one of them, and apply them. A list that is not
signed by a pinned certificate, has expired, or is older than the one before is
refused, and changes nothing. With --file, a list is read from a file instead.`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVar(&file, "file", "", "with an ID, file that holds the list")
	return terminal.Printing(cmd, terminal.OneArray, func(args []string, out *terminal.Output) error {
		if file != "" && len(args) == 0 {
			return errors.New("--file needs the ID of the list")
		}
		return c.withLists(cmd.Context(), func(lists *document.Lists) error {
			ids, err := idsToSync(cmd.Context(), lists, args)
			if err != nil {
				return err
			}
			sync := lists.Sync
			if file != "" {
				raw, err := readList(file)
				if err != nil {
					return err
				}
				sync = func(ctx context.Context, actor audit.Actor, id uuid.UUID) (document.Synced, error) {
					return lists.Import(ctx, actor, id, raw)
				}
			}
			results := []syncResult{}
			var failed []error
			for _, id := range ids {
				synced, err := sync(cmd.Context(), commandLine(), id)
				if err != nil {
					failed = append(failed, fmt.Errorf("list %s: %w", id, missing("list", err)))
					continue
				}
				results = append(results, fromSynced(synced))
			}
			return errors.Join(append([]error{out.Print(results, func(w io.Writer) { printSynced(w, results) })}, failed...)...)
		})
	})
}

// idsToSync returns the ID in args, or those of all lists with an address.
func idsToSync(ctx context.Context, lists *document.Lists, args []string) (ids []uuid.UUID, err error) {
	if len(args) > 0 {
		id, err := idOf("the ID", args[0], "agegate trust source list prints it")
		return []uuid.UUID{id}, err
	}
	found, err := lists.List(ctx)
	for _, l := range found {
		if l.URL != "" {
			ids = append(ids, l.ID)
		}
	}
	return ids, err
}
