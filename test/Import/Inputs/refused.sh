#!/bin/sh
# Runs llmmem-import on arguments that it must refuse, and prints what it says.
# Fails unless it exits with 1, prints nothing on stdout and leaves no file.
dir=$(mktemp -d) || exit 3
mkdir "$dir/out"
llmmem-import "$@" -o "$dir/out/model.mlir" >"$dir/stdout" 2>"$dir/stderr"
code=$?
cat "$dir/stderr"
left=$(ls -A "$dir/out")
printed=$(cat "$dir/stdout")
rm -r "$dir"
[ "$code" -eq 1 ] || { echo "exit code $code, expected 1" >&2; exit 2; }
[ -z "$printed" ] || { echo "stdout is not empty" >&2; exit 2; }
[ -z "$left" ] || { echo "left over: $left" >&2; exit 2; }
