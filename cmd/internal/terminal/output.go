package terminal

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// Output prints the result of a command: JSON with --json, otherwise text.
type Output struct {
	cmd  *cobra.Command
	JSON bool // set by --json
}

// Shapes of the JSON that --json prints.
const (
	OneObject = "one JSON object"
	OneArray  = "one JSON array"
)

// OutputFlag adds --json to a command whose JSON has the given shape.
func OutputFlag(cmd *cobra.Command, shape string) *Output {
	o := &Output{cmd: cmd}
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print "+shape)
	return o
}

// Printing returns a command that runs run, with --json for the given shape.
func Printing(cmd *cobra.Command, shape string, run func(args []string, out *Output) error) *cobra.Command {
	out := OutputFlag(cmd, shape)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return run(args, out) }
	return cmd
}

// Print prints v as JSON with --json, otherwise the output of text, with tab-separated columns aligned.
func (o *Output) Print(v any, text func(w io.Writer)) error {
	if o.JSON {
		return JSON(o.cmd.OutOrStdout(), v)
	}
	w := tabwriter.NewWriter(o.cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	text(w)
	return w.Flush()
}

// PrintList returns a function that prints what a call has found, unless that failed: with --json an array of
// what as returns for each, otherwise a table with a heading and a line for each.
func PrintList[Found, Listed any](
	o *Output, as func(Found) Listed, heading string, line func(Listed) []any,
) func([]Found, error) error {
	return func(found []Found, err error) error {
		if err != nil {
			return err
		}
		listed := make([]Listed, len(found))
		for i, one := range found {
			listed[i] = as(one)
		}
		return o.Print(listed, func(w io.Writer) {
			fmt.Fprintln(w, heading)
			for _, one := range listed {
				cells := line(one)
				fmt.Fprintf(w, strings.Repeat("%v\t", len(cells)-1)+"%v\n", cells...)
			}
		})
	}
}

// Itself is the function as of PrintList for a list that is printed unchanged.
func Itself[T any](found T) T { return found }
