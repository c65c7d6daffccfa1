#!/bin/sh
# llmmem-study, wherever the folder that it was installed to has been moved.
bin=$(CDPATH= cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
export PATH="$bin:$PATH"
export PYTHONPATH="$bin/../lib/llmmem/python${PYTHONPATH:+:$PYTHONPATH}"
exec python3 -m llmmem._study.command "$@"
