"""`python -I -m llmmem.torch`."""

import sys

from ._command import main

sys.exit(main())
