package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// output prints the result of a command: JSON with --json, otherwise text.
type output struct {
	cmd  *cobra.Command
	json bool
}

// Shapes of the JSON that --json prints.
const (
	oneObject = "one JSON object"
	oneArray  = "one JSON array"
)

// outputFlag adds --json to a command whose JSON has the given shape.
func outputFlag(cmd *cobra.Command, shape string) *output {
	o := &output{cmd: cmd}
	cmd.Flags().BoolVar(&o.json, "json", false, "print "+shape)
	return o
}

// print prints v as JSON with --json, otherwise the output of text, with
// tab-separated columns aligned.
func (o *output) print(v any, text func(w io.Writer)) error {
	if o.json {
		return printJSON(o.cmd.OutOrStdout(), v)
	}
	w := tabwriter.NewWriter(o.cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	text(w)
	return w.Flush()
}

// printList prints what was found: an array of what as makes of each with --json,
// otherwise a table with a heading and a line for each.
func printList[Found, Listed any](
	o *output, found []Found, as func(Found) Listed, heading string, line func(Listed) []any,
) error {
	listed := make([]Listed, len(found))
	for i, one := range found {
		listed[i] = as(one)
	}
	return o.print(listed, func(w io.Writer) {
		fmt.Fprintln(w, heading)
		for _, one := range listed {
			cells := line(one)
			fmt.Fprintf(w, strings.Repeat("%v\t", len(cells)-1)+"%v\n", cells...)
		}
	})
}

// itself is for printList where what was found is printed as it is.
func itself[T any](found T) T { return found }
