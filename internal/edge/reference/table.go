package reference

import (
	"fmt"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// On a small screen, a table of minStacked columns or more shows its rows as lists,
// and one of minWide, which holds figures to compare, scrolls below its first column.
const minStacked, minWide = 3, 7

// table writes a table that can be scrolled by keyboard.
func (b *blocks) table(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		fmt.Fprint(w, "</table></div>\n")
		return ast.WalkContinue, nil
	}
	form := ""
	switch columns := n.FirstChild().ChildCount(); {
	case columns >= minWide:
		form = " wide"
	case columns >= minStacked:
		form = " stack"
	}
	fmt.Fprintf(w, `<div class="scroll%s" tabindex="0" role="group" aria-label="Table"><table>`, form)
	return ast.WalkContinue, nil
}

// labelCells gives each cell but the first of a row the title of its column, which a
// row that is shown as a list needs.
func labelCells(table *extast.Table, source []byte) {
	for row := table.FirstChild().NextSibling(); row != nil; row = row.NextSibling() {
		title := table.FirstChild().FirstChild()
		for cell := row.FirstChild(); cell != nil; cell, title = cell.NextSibling(), title.NextSibling() {
			if text := plain(title, source); text != "" && cell != row.FirstChild() {
				cell.SetAttributeString("data-title", []byte(text))
			}
		}
	}
}
