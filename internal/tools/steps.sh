#!/bin/sh
# Runs `make` for each target named and prints, at the end or at the first one that
# fails, how long each took and how much time of processors it used.
began=$(date +%s) table='' failed='' used=0 times=$(mktemp)
trap 'rm -f "$times"' EXIT
for target; do
	printf '\n== make %s\n' "$target"
	start=$(date +%s)
	"${MAKE:-make}" --no-print-directory "$target" || failed=$target
	times >"$times"
	before=$used used=$(awk -F '[ms ]+' 'END { printf "%d", ($1 + $3) * 60 + $2 + $4 }' "$times")
	table="$table$(printf '\n  %-14s %5d s %5d s of processors' "$target" $(($(date +%s) - start)) $((used - before)))"
	[ -z "$failed" ] || break
done
printf '\n== What took how long%s\n  %-14s %5d s %5d s of processors\n' "$table" all $(($(date +%s) - began)) "$used"
[ -z "$failed" ] || { printf '\nmake %s failed.\n' "$failed" >&2; exit 1; }
