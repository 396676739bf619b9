"""Speed and memory, measured against named peers. `python -m benchmarks` lists what each file measures."""

from __future__ import annotations

import sys
from pathlib import Path

# `tests.support` is one namespace of all packages.
sys.path[:0] = [str(path) for path in sorted((Path(__file__).resolve().parents[1] / "packages").iterdir())]
