"""Locate the parity data."""

from __future__ import annotations

import os
from pathlib import Path

PARITY = Path(
    os.environ.get("VIVANT_PARITY") or Path(__file__).resolve().parents[5] / "shared" / "parity"
).absolute()
"""Real outputs and published scores: `VIVANT_PARITY`, else `../shared/parity`."""
