#!/bin/sh
# Runs `make` for each target named and prints, at the end or at the first one that
# fails, how long each took.
began=$(date +%s) table='' failed=''
for target; do
	printf '\n== make %s\n' "$target"
	start=$(date +%s)
	"${MAKE:-make}" --no-print-directory "$target" || failed=$target
	table="$table$(printf '\n  %-14s %5d s' "$target" $(($(date +%s) - start)))"
	[ -z "$failed" ] || break
done
printf '\n== What took how long%s\n  %-14s %5d s\n' "$table" all $(($(date +%s) - began))
[ -z "$failed" ] || { printf '\nmake %s failed.\n' "$failed" >&2; exit 1; }
