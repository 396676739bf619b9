"""Processors that state tile matrices (AMX) and cannot use them, as some virtual machines do.

There torch ends with an illegal instruction at the first product in bfloat16. docs/install.md names the remedy, which
this applies before any test imports torch.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

_LIMIT, _WITHOUT_TILES = "ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16"
_PRODUCT = "import torch; one = torch.ones(64, 64, dtype=torch.bfloat16); one @ one"


def avoid_broken_tiles() -> None:
    """Keep torch, here and in the processes that tests start, from tile matrices that do not work."""
    features = Path("/proc/cpuinfo")
    if _LIMIT in os.environ or not features.exists() or " amx_tile" not in features.read_text():
        return
    if importlib.util.find_spec("torch") is None:
        return
    outcome = subprocess.run([sys.executable, "-c", _PRODUCT], capture_output=True, check=False)
    if outcome.returncode == -signal.SIGILL:
        os.environ[_LIMIT] = _WITHOUT_TILES
