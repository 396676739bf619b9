"""What the five benchmarks have published, checked: where figures hold together, and where they do not.

Everything is recomputed from published rows, kept as data with the benchmarks, and from files of the
benchmarks' own repositories where the user has them (`--data`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from vivant.analysis.audit import milebench, mime, mimic, mmie, mmrv
from vivant.analysis.audit.check import AuditCheck, format_markdown, format_text
from vivant.core.errors import DataError, UsageError, unknown_name_error

Checker = Callable[[Path | None], Sequence[AuditCheck]]
CHECKERS: Mapping[str, Checker] = {
    "mime": mime.check_all,
    "milebench": milebench.check_all,
    "mimic": mimic.check_all,
    "mmrv": mmrv.check_all,
    "mmie": mmie.check_all,
}

_OPENING = """# An audit of what is published

*This page is written by `vivant audit --markdown -o docs/audit.md`; do not edit it by hand.*

Benchmarks are read by their tables. Here the tables of the five are recomputed from their own rows: {total} checks,
of which {holds} hold, {fails} do not, and {open} cannot be settled from what is public. Each comes with its
arithmetic, so that anyone can redo it. None of it speaks against using the benchmarks: most slips are small, and
authors may know reasons that their pages do not state. It does say which figures not to lean on, and Vivant's
protocols follow from it: `paper` scores replies as a published figure was scored, `strict` as it was meant. Both are
ways of scoring; how a row was asked is in its recipe (`vivant recipes NAME`).

With the original repositories' files at hand, `vivant audit --data mime=FOLDER` recomputes from them as well.
"""


def audit(only: Sequence[str] = (), data: Mapping[str, Path] | None = None) -> list[AuditCheck]:
    """All checks, or those of the benchmarks or cases named."""
    data = data or {}
    for name, path in data.items():
        if name not in CHECKERS:
            raise unknown_name_error("benchmark in --data", name, CHECKERS)
        if not path.exists():
            raise DataError(f"--data {name}={path}: no such folder")
    checks: dict[str, list[AuditCheck]] = {}
    for name, make in CHECKERS.items():
        if not only or any(word == name or word.startswith(f"{name}-") for word in only):
            checks[name] = list(make(data.get(name)))
    cases = [case for group in checks.values() for case in group]
    if not only:
        return cases
    names = {case.name for case in cases}
    for word in only:
        if word not in names and word not in CHECKERS:
            raise unknown_name_error("check", word, [*CHECKERS, *names])
    chosen = [case for name, group in checks.items() for case in group if name in only or case.name in only]
    if not chosen:
        raise UsageError("There is nothing to check")
    return chosen


def to_text(cases: Sequence[AuditCheck], width: int = 110) -> str:
    """The checks for a terminal of this width."""
    return "\n".join(format_text(case, width) for case in cases)


def to_markdown(cases: Sequence[AuditCheck]) -> str:
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
        lines += [format_markdown(case) for case in cases if case.benchmark == benchmark]
    return "\n".join(lines).rstrip() + "\n"
