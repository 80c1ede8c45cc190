#!/bin/sh
# Fails when a module that builds agegate's packages selects another version of a
# dependency than the product: Go would compile the product a second time for it, and
# its tests would not test what is released.
cd "$(dirname "$0")/../.." || exit 1
selected() {
	(cd "$1" && go list -deps -test -f '{{with .Module}}{{with .Version}}{{$.Module.Path}} {{.}}{{end}}{{end}}' ./... | sort -u)
}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
selected . >"$dir/product" || exit 1
for module in proof internal/tools; do
	selected $module >"$dir/module" || exit 1
	join "$dir/product" "$dir/module" | awk -v module=$module '$2 != $3 && $1 != "agegate" {
		print module " takes " $1 " " $3 ", and the product " $2 ": let go.mod require the higher one"; bad = 1
	} END { exit bad }' || exit 1
done
