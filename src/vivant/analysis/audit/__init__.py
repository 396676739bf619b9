"""What the five benchmarks have published, checked: where figures hold together, and where they do not.

Everything is recomputed from published rows, kept as data with the benchmarks, and from files of the
benchmarks' own repositories where the user has them (`--data`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from vivant.analysis.audit import milebench, mime, mimic, mmie, mmrv
from vivant.analysis.audit.case import Case, as_markdown, as_text
from vivant.core.errors import DataError, UsageError, unknown_name_error

Maker = Callable[[Path | None], Sequence[Case]]
MAKERS: Mapping[str, Maker] = {
    "mime": mime.cases,
    "milebench": milebench.cases,
    "mimic": mimic.cases,
    "mmrv": mmrv.cases,
    "mmie": mmie.cases,
}

_OPENING = """# An audit of what is published

*This page is written by `vivant audit --markdown -o docs/audit.md`; do not edit it by hand.*

Benchmarks are read by their tables. Here the tables of the five are recomputed from their own rows: {total} checks,
of which {holds} hold, {fails} do not, and {open} cannot be settled from what is public. Each comes with its
arithmetic, so that anyone can redo it. None of it speaks against using the benchmarks: most slips are small, and
authors may know reasons that their pages do not state. It does say which figures not to lean on, and Vivant's
protocols follow from it: `paper` reproduces a published figure as it was made, `strict` as it was meant.

With the original repositories' files at hand, `vivant audit --data mime=FOLDER` recomputes from them as well.
"""


def audit(only: Sequence[str] = (), data: Mapping[str, Path] | None = None) -> list[Case]:
    """All checks, or those of the benchmarks or cases named."""
    data = data or {}
    for name, path in data.items():
        if name not in MAKERS:
            raise unknown_name_error("benchmark in --data", name, MAKERS)
        if not path.exists():
            raise DataError(f"--data {name}={path}: no such folder")
    known: dict[str, list[Case]] = {}
    for name, make in MAKERS.items():
        if not only or any(word == name or word.startswith(f"{name}-") for word in only):
            known[name] = list(make(data.get(name)))
    cases = [case for own in known.values() for case in own]
    if not only:
        return cases
    names = {case.name for case in cases}
    for word in only:
        if word not in names and word not in MAKERS:
            raise unknown_name_error("check", word, [*MAKERS, *names])
    chosen = [case for name, own in known.items() for case in own if name in only or case.name in only]
    if not chosen:
        raise UsageError("There is nothing to check")
    return chosen


def to_text(cases: Sequence[Case]) -> str:
    """The checks for a terminal."""
    return "\n".join(as_text(case) for case in cases)


def to_markdown(cases: Sequence[Case]) -> str:
    """The checks as a page, by benchmark."""
    outcomes = [case.outcome for case in cases]
    lines = [
        _OPENING.format(
            total=len(cases),
            holds=outcomes.count("holds"),
            fails=outcomes.count("does not hold"),
            open=outcomes.count("cannot be told"),
        )
    ]
    for benchmark in dict.fromkeys(case.benchmark for case in cases):
        lines.append(f"## {benchmark}\n")
        lines += [as_markdown(case) for case in cases if case.benchmark == benchmark]
    return "\n".join(lines).rstrip() + "\n"
