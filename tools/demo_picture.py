"""Draw docs/images/demo.svg: the table of `vivant demo` as a terminal shows it.

python tools/demo_picture.py RUNS/demo
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from vivant.cli.demo import CONTESTANTS
from vivant.core.table_layout import layout_table
from vivant.reporting.demo import build_demo_table
from vivant.runs.run import Run

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "demo.svg"


def main() -> None:
    """Read the demo's runs and draw."""
    runs = {contestant.model: Run(Path(sys.argv[1]) / contestant.folder) for contestant in CONTESTANTS}
    table = build_demo_table(runs, {contestant.model: contestant.sees for contestant in CONTESTANTS})
    console = Console(record=True, width=72, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(Text("$ vivant demo\n", style="bold"))
    for line in layout_table(table, 72):
        console.print(Text(line.text, style=line.style))
    svg = console.export_svg(title="vivant demo")
    # The reader's own monospaced font: a picture should load nothing.
    PICTURE.write_text(re.sub(r"\s*@font-face \{.*?\}\n", "\n", svg, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
