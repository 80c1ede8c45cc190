#!/bin/sh
# Runs `make` for each argument and prints, at the end or at the first one that fails,
# how long each took and how much time of processors it used. The targets of one
# argument run side by side.
began=$(date +%s) table='' failed='' used=0 times=$(mktemp)
trap 'rm -f "$times"' EXIT
for targets; do
	printf '\n== make %s\n' "$targets"
	start=$(date +%s)
	# shellcheck disable=SC2086 # one word a target
	"${MAKE:-make}" --no-print-directory -j "$(echo $targets | wc -w)" $targets || failed=$targets
	times >"$times"
	before=$used used=$(awk -F '[ms ]+' 'END { printf "%d", ($1 + $3) * 60 + $2 + $4 }' "$times")
	table="$table$(printf '\n  %-17s %5d s %5d s of processors' "$targets" $(($(date +%s) - start)) $((used - before)))"
	[ -z "$failed" ] || break
done
printf '\n== What took how long%s\n  %-17s %5d s %5d s of processors\n' "$table" all $(($(date +%s) - began)) "$used"
[ -z "$failed" ] || { printf '\nmake %s failed.\n' "$failed" >&2; exit 1; }
