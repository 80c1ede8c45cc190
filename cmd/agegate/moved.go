package main

import (
	"fmt"

	"agegate/cmd/internal/terminal"

	"github.com/spf13/cobra"
)

// moved names the commands that 0.3.0 moved to other programs, and where they are now. 0.4.0 drops this table.
var moved = map[string]string{
	"listen":      "agegate-dev listen",
	"certify":     "agegate-dev certify",
	"conformance": "agegate-dev conformance",
	"eval":        "agegate-lab eval",
	"crops":       "agegate-lab crops",
	"document":    "agegate-lab document",
}

// movedCommand returns a hidden command that says where it is now, and exits with 2.
func movedCommand(use, before, now string) *cobra.Command {
	return &cobra.Command{
		Use: use, Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return terminal.ExitError{Code: 2, Err: fmt.Errorf("%q is now %q", before, now)}
		},
	}
}
