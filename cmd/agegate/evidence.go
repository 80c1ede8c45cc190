package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app"
	"agegate/internal/app/config"
	"agegate/internal/backoffice/evidence"
	"agegate/internal/backoffice/insight"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/store"

	"github.com/spf13/cobra"
)

const evidenceHelp = `Make a pack of evidence about one tenant and period: statements in Markdown and for
printing, tables of accuracy, attacks, outcomes and changes, and a signature. What the
gateway cannot know is left blank and marked as blank. No pack holds a picture, an
estimate of a person, a name of staff or a count under 20. It is not legal advice.

--session adds the signed receipt of a session: its target age, status, way and time,
which anybody can verify with the key that agegate evidence key prints.

The days are of UTC; the last one is included.`

func (c *cli) evidenceCommand() *cobra.Command {
	var from, to, out, language string
	var target int
	var ids []string
	var of string
	cmd := &cobra.Command{
		Use:   "evidence --tenant ID --from DAY --to DAY --out FILE",
		Short: "Make and verify a pack of evidence about a tenant", Long: evidenceHelp, Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&of, "tenant", "", "ID of the tenant")
	cmd.Flags().StringVar(&from, "from", "", "first day, such as 2026-01-01")
	cmd.Flags().StringVar(&to, "to", "", "last day")
	cmd.Flags().StringVar(&out, "out", "", "file to write, such as pack.zip")
	cmd.Flags().StringVar(&language, "language", "en", "of the statements: en or de")
	cmd.Flags().IntVar(&target, "target", 18, "target age that the accuracy is about, 13 to 60")
	cmd.Flags().StringArrayVar(&ids, "session", nil, "add the receipt of this session; may be repeated")
	for _, name := range []string{"tenant", "from", "to", "out"} {
		_ = cmd.MarkFlagRequired(name)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		request, err := evidenceRequest(of, from, to, ids)
		if err != nil {
			return err
		}
		request.Language, request.TargetAge = language, target
		if err := terminal.PlaceFor("--out", out); err != nil {
			return err
		}
		return c.withEvidence(cmd.Context(), func(service *evidence.Service) error {
			pack, err := service.Pack(cmd.Context(), request)
			if err != nil {
				return missing("tenant or session", err)
			}
			err = writeWhole(out, os.Rename, func(w io.Writer) error {
				_, err := w.Write(pack)
				return err
			})
			return confirm(cmd, err, "%s is signed with key %s.\n", out, service.Key().ID())
		})
	}
	cmd.AddCommand(c.evidenceVerify(), c.evidenceKey())
	return cmd
}

// evidenceRequest reads the flags of a request.
func evidenceRequest(of, from, to string, ids []string) (r evidence.Request, err error) {
	if r.TenantID, err = idOf("--tenant", of, tenantsListed); err != nil {
		return r, err
	}
	for _, day := range []struct {
		flag, text string
		to         *time.Time
	}{{"--from", from, &r.From}, {"--to", to, &r.To}} {
		if *day.to, err = time.Parse(time.DateOnly, day.text); err != nil {
			return r, fmt.Errorf("%s must be a day such as 2026-01-31", day.flag)
		}
	}
	r.To = r.To.AddDate(0, 0, 1)
	for _, text := range ids {
		id, err := idOf("--session", text, sessionsListed)
		if err != nil {
			return r, err
		}
		r.Receipts = append(r.Receipts, id)
	}
	return r, nil
}

// withEvidence runs fn with the service of evidence on the configured database.
func (c *cli) withEvidence(ctx context.Context, fn func(*evidence.Service) error) error {
	return c.withDatabase(ctx, func(db *store.Store, cfg config.Config) error {
		key, err := evidenceKey(cfg)
		if err != nil {
			return err
		}
		about, err := app.Installation(cfg)
		if err != nil {
			return err
		}
		counter := insight.NewService(db, billing.Limits{}, now)
		return fn(evidence.NewService(db, counter, key, about, now))
	}, config.SecretKeyName)
}

// writeWhole writes a file so that it appears, by os.Rename or os.Link, only with its complete
// content, and stays if the machine fails.
func writeWhole(path string, appear func(from, to string) error, write func(io.Writer) error) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // nothing was written to it
	file, err := os.CreateTemp(dir.Name(), ".agegate-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it may be gone
	if err = write(file); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = appear(file.Name(), path)
	}
	if err != nil {
		return err
	}
	return dir.Sync()
}

// evidenceKey returns the key that signs evidence.
func evidenceKey(cfg config.Config) (evidence.Key, error) {
	sealer, err := app.NewSealer(cfg)
	if err != nil {
		return evidence.Key{}, err
	}
	return app.NewEvidenceKey(sealer)
}

func (c *cli) evidenceKey() *cobra.Command {
	return &cobra.Command{
		Use: "key", Short: "Print the public key that packs and receipts verify with", Args: cobra.NoArgs,
		Long: "Print the public key that packs and receipts verify with, in PEM. Publish it where those\n" +
			"who check them look, such as your imprint. It is derived from AGEGATE_SECRET_KEY: after\n" +
			"a change of that it is another; keep the earlier ones for what was signed before.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load(config.SecretKeyName)
			if err != nil {
				return err
			}
			key, err := evidenceKey(cfg)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s", key.Public().PEM())
			return err
		},
	}
}

func (c *cli) evidenceVerify() *cobra.Command {
	var keyPath, logPath string
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Check a pack or a receipt, without the gateway", Args: cobra.ExactArgs(1),
		Long: "Check a pack: every byte of the archive, the hash of each file, the signature, the chain\n" +
			"of the audit log, and the receipts. Or check one receipt (a .jwt file), which needs --key.\n" +
			"Neither a configuration nor a database is read. The exit status is 1 when it does not hold.\n\n" +
			"Without --key a pack is checked with the key that it brings along. That shows only that it\n" +
			"is whole: compare the printed ID with the published key's, or give that key.",
	}
	cmd.Flags().StringVar(&keyPath, "key", "", "PEM file of the published key")
	cmd.Flags().StringVar(&logPath, "audit", "", "also compare the pack with this output of agegate audit export")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		data, err := os.ReadFile(args[0])
		if err != nil {
			return fmt.Errorf("the file cannot be read: %w", errors.Unwrap(err))
		}
		var key *evidence.PublicKey
		if keyPath != "" {
			text, err := readFile(keyPath, "--key: the file", 64<<10)
			if err != nil {
				return err
			}
			given, err := evidence.ParsePublicKey(text)
			if err != nil {
				return err
			}
			key = &given
		}
		if strings.HasSuffix(args[0], ".jwt") {
			return verifyReceipt(cmd.OutOrStdout(), string(data), key)
		}
		found, err := evidence.Verify(data, key)
		if err != nil {
			return err
		}
		if logPath != "" {
			if err := compareLog(found, logPath); err != nil {
				return err
			}
		}
		m := found.Manifest
		fmt.Fprintf(cmd.OutOrStdout(), "The pack holds: tenant %s, %s to %s, made %s, files: %d, receipts: %d, audit log to "+
			"entry %d.\n",
			m.TenantID, m.From, m.To, m.MadeAt.Format(time.RFC3339), len(m.Files), found.Receipts, m.AuditHead.Entries)
		signed := map[bool]string{true: "key %s: compare that with the published key.\n", false: "the given key, %s.\n"}
		fmt.Fprintf(cmd.OutOrStdout(), "It was signed with "+signed[key == nil], found.Key.ID())
		return nil
	}
	return cmd
}

func verifyReceipt(out io.Writer, text string, key *evidence.PublicKey) error {
	if key == nil {
		return errors.New("a receipt needs --key, the published key")
	}
	receipt, err := evidence.VerifyReceipt(text, *key)
	if err != nil {
		return err
	}
	return terminal.JSON(out, receipt)
}

// compareLog checks that an exported log contains the pack's chain.
func compareLog(found evidence.Verified, path string) error {
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return fmt.Errorf("--audit: the file cannot be read: %w", errors.Unwrap(err))
	}
	defer file.Close() //nolint:errcheck // it was only read
	return found.VerifyLog(func(yield func(audit.Entry) error) error {
		lines := json.NewDecoder(file)
		for {
			var e audit.Entry
			if err := lines.Decode(&e); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return errors.New("--audit: this is no export of an audit log")
			}
			if err := yield(e); err != nil {
				return err
			}
		}
	})
}
