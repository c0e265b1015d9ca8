"""``python -m mechdesign``."""

import sys

from .cli import main

sys.exit(main())
