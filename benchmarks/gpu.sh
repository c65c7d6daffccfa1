#!/bin/sh
# One command for a day with a GPU: builds what is not built, then checks numbers, calibrates and prints the table.
#   benchmarks/gpu.sh [--only=numerics|calibrate|table] [--models=gpt2,llama-3-8b] [--repeats=3] ...   (--help: all)
#   benchmarks/gpu.sh --pack=FOLDER    instead: what another machine with a GPU needs, without LLVM there (utils/pack)
# Exit code 1 where a promise is broken, 3 where there is no GPU. A later call goes on where the last one stopped.
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
build=${LLMMEM_BUILD:-$root/build}
if [ ! -x "$build/bin/llmmem-run" ]; then
  cmake --preset default -S "$root" -B "$build"
  cmake --build "$build" --target llmmem-import llmmem-opt llmmem-run
fi
case "$1" in
--pack=*)
  folder=${1#--pack=}
  shift
  exec "${PYTHON:-python3}" "$root/utils/pack" "$folder" --build "$build" "$@"
  ;;
esac
exec "${PYTHON:-python3}" "$root/benchmarks/gpu.py" --build "$build" "$@"
