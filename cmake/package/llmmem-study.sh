#!/bin/sh
# llmmem-study, wherever the folder that it was installed to has been moved. Python is isolated (-I): it takes no module from the
# current folder, and none from where PYTHON* variables say.
bin=$(CDPATH= cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
export PATH="$bin:$PATH"
exec python3 -I -c 'import sys; sys.path.insert(0, sys.argv.pop(1)); from llmmem._study.command import main; sys.exit(main())' \
  "$bin/../lib/llmmem/python" "$@"
