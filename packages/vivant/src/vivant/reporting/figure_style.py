"""How figures look: sizes of a paper's column, colours that all readers can tell apart, text that stays text."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from vivant.core.errors import UsageError
from vivant.core.table import escape_latex

FORMATS = (".svg", ".pdf", ".png")
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#5b4ea0")
"""Okabe and Ito's colours, which readers with any kind of colour vision can tell apart, and two more."""
GREYS = ("#6b7480", "#9aa3ad", "#c3c9cf")
"""For baselines, which are reference lines."""
MAP = "cividis"
"""A scale from dark to light, which reads the same with any kind of colour vision and in print."""
WIDTHS = {"column": 3.35, "page": 7.0}
"""Inches: one column and both columns of a two-column paper."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class FigureStyle(Struct, frozen=True, kw_only=True):
    """Size and lettering of figures."""

    width: Literal["column", "page"] = "column"
    font_size: float = 8.0
    """Points, at the size in which the figure is printed."""
    latex: bool = False
    """Whether LaTeX sets the labels, in the paper's own font."""

    @property
    def inches(self) -> float:
        """How wide a figure is."""
        return WIDTHS[self.width]

    def label(self, text: str, longest: int = 60) -> str:
        """A text from data as a label: nothing in it is taken for mathematics or a command."""
        plain = _CONTROLS.sub(" ", text)
        plain = plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
        return escape_latex(plain) if self.latex else plain.replace("$", r"\$")

    def wrap(self, text: str) -> str:
        """A caption in lines that fit the figure."""
        # LaTeX's small letters are wider.
        width = (0.64 if self.latex else 0.5) * self.font_size * 0.8
        return "\n".join(textwrap.wrap(text, int(self.inches * 72 / width)))


def load_pyplot(style: FigureStyle | None = None) -> Any:
    """Matplotlib's pyplot, drawing to files, in the style of all figures here."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise UsageError("Figures need matplotlib: pip install 'vivant[figures]'")
    style = style or FigureStyle(font_size=9)
    if style.latex and not (shutil.which("latex") and shutil.which("dvipng")):
        raise UsageError("--latex needs the programs latex and dvipng, which are not installed here")
    import matplotlib

    # A notebook has a backend of its own, which draws to files as well and must stay.
    if "MPLBACKEND" not in os.environ and "matplotlib.pyplot" not in sys.modules:
        matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(
        {
            "font.size": style.font_size,
            "axes.titlesize": style.font_size,
            "axes.labelsize": style.font_size,
            "xtick.labelsize": style.font_size - 1,
            "ytick.labelsize": style.font_size - 1,
            "legend.fontsize": style.font_size - 1,
            "axes.linewidth": 0.6,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.alpha": 0.25,
            "text.usetex": style.latex,
            "font.family": "serif" if style.latex else "sans-serif",
            "svg.fonttype": "none",
            # Names inside the file follow from its content, so that the same figure gives the same bytes.
            "svg.hashsalt": "vivant",
            "pdf.fonttype": 42,
        }
    )
    return pyplot


def save_figure(pyplot: Any, figure: Any, path: Path, *, exact: bool = False) -> None:
    """Write a figure in the form that the path's ending names, the same for the same data, and close it.

    Args:
        pyplot: What `load_pyplot` gives.
        figure: The figure.
        path: The file.
        exact: Keep the size that the figure was made with, instead of cutting its margins.
    """
    if path.suffix not in FORMATS:
        raise UsageError(f"{path}: a figure is written as {', '.join(FORMATS)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        bounds = None if exact else "tight"
        figure.savefig(path, bbox_inches=bounds, dpi=300 if exact else 150, metadata=_timeless(path))
    except OSError as error:
        raise UsageError(f"Cannot write {path}: {error.strerror}") from error
    except RuntimeError as error:
        if not pyplot.rcParams["text.usetex"]:
            raise
        lines = [line for line in str(error).splitlines() if line.startswith("!")] or str(error).splitlines()
        raise UsageError(
            f"LaTeX cannot set the labels of {path.name} ({lines[0][:200]}); draw it without --latex"
        ) from error
    finally:
        pyplot.close(figure)


def _timeless(path: Path) -> dict[str, None] | None:
    """Without a date inside, the same data give the same file."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix)
