#!/bin/sh
# One command for a day with a GPU: builds what is not built, then checks numbers, calibrates and prints the table.
#   benchmarks/gpu.sh [--only=numerics|calibrate|table] [--models=gpt2,llama-3-8b] [--repeats=3] ...   (--help: all)
#   benchmarks/gpu.sh --pack=FOLDER         instead: planned steps as data for a machine without LLVM (gpu_pack.py)
#   benchmarks/gpu.sh --bundle FOLDER --minutes N --out RESULTS    there: measures them (gpu_bundle.py)
#   benchmarks/gpu.sh --pack-tools=FOLDER   instead: the tools themselves, with every library they load (utils/pack)
# Exit code 1 where a promise is broken, 3 where there is no GPU. A later call goes on where the last one stopped.
set -e
python=${PYTHON:-python3}
if [ "$1" = --bundle ]; then
  folder=$2
  shift 2
  exec "$python" "$folder/gpu_bundle.py" --bundle "$folder" "$@"
fi
root=$(cd "$(dirname "$0")/.." && pwd)
build=${LLMMEM_BUILD:-$root/build}
build_tools() {
  for tool in "$@"; do
    [ -x "$build/bin/$tool" ] && continue
    cmake --preset default -S "$root" -B "$build"
    cmake --build "$build" --target "$@"
    break
  done
}
build_tools llmmem-import llmmem-opt llmmem-run
case "$1" in
--pack=*)
  folder=${1#--pack=}
  shift
  build_tools llmmem-bundle llmmem-replay
  exec "$python" "$root/benchmarks/gpu_pack.py" "$folder" --build "$build" "$@"
  ;;
--pack-tools=*)
  folder=${1#--pack-tools=}
  shift
  exec "$python" "$root/utils/pack" "$folder" --build "$build" "$@"
  ;;
esac
exec "$python" "$root/benchmarks/gpu.py" --build "$build" "$@"
