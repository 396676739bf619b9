"""`python -m minis.mmie OUT` renders the mini-edition anew."""

from __future__ import annotations

import sys
from pathlib import Path

from minis.mmie import build_mini

if __name__ == "__main__":
    build_mini(Path(sys.argv[1] if len(sys.argv) > 1 else "mmie-mini"), print)
