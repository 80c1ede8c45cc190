#!/bin/sh
# Fails when Git holds a binary, or a file over 1 MB, that is not of the list: models,
# pictures of the documents, and pictures that tests read.
list='models/[a-z]*\.onnx|docs/pictures/[a-z-]*\.png|internal/check/document/reader/testdata/[a-z0-9_]*\.jpg'
found=$({ git ls-files --eol | sed -n 's/^i\/-text.*	//p'; git ls-files -z | xargs -0 sh -c 'find "$@" -size +2048' sh; } |
	sort -u | grep -Evx "$list")
[ -z "$found" ] || { printf 'A binary or a file over 1 MB does not belong in Git:\n%s\n' "$found" >&2; exit 1; }
