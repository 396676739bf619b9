"""`python -m benchmarks`: what each file here measures. `python -m benchmarks.NAME` runs one."""

from __future__ import annotations

import ast
from pathlib import Path


def main() -> None:
    """Print the name of each file with the first line of its docstring."""
    files = sorted(path for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("__"))
    width = max(len(path.stem) for path in files)
    for path in files:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        print(f"{path.stem:<{width}}  {text.partition(chr(10))[0]}")


if __name__ == "__main__":
    main()
