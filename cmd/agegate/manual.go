package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// manualCommand returns a hidden command for making packages: it writes a manual page for each command.
func manualCommand() *cobra.Command {
	return &cobra.Command{
		Use: "manual DIRECTORY", Short: "Write the manual pages to a directory", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return writeManual(cmd.Root(), args[0]) },
	}
}

// writeManual writes the manual pages, in the format of man(7). The flags of the
// configuration are on the page of the program only.
func writeManual(root *cobra.Command, dir string) error {
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "agegate " + version, Manual: "agegate"}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	if err := doc.GenManTree(root, header, dir); err != nil {
		return err
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = false })
	page, err := os.Create(filepath.Join(dir, "agegate.1")) //nolint:gosec // the directory is the caller's
	if err != nil {
		return err
	}
	if err := doc.GenMan(root, header, page); err != nil {
		_ = page.Close() // the other error is the reason
		return err
	}
	return page.Close()
}
