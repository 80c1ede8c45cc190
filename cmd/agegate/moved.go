package main

import (
	"fmt"

	"agegate/cmd/internal/terminal"

	"github.com/spf13/cobra"
)

// moved names the commands that 0.3.0 moved to other programs, and where they are
// now. 0.4.0 drops this table.
var moved = map[string]string{
	"listen":      "agegate-dev listen",
	"certify":     "agegate-dev certify",
	"conformance": "agegate-dev conformance",
	"eval":        "agegate-lab eval",
	"crops":       "agegate-lab crops",
	"document":    "agegate-lab document",
}

// movedCommands returns a hidden command for each that has moved. It says where
// the command is, and exits with 2.
func movedCommands() []*cobra.Command {
	var commands []*cobra.Command
	for name, now := range moved {
		commands = append(commands, movedCommand(name, name, now))
	}
	return commands
}

func movedCommand(use, before, now string) *cobra.Command {
	return &cobra.Command{
		Use: use, Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return terminal.ExitError{Code: 2, Err: fmt.Errorf("%q is now %q", before, now)}
		},
	}
}
