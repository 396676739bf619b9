"""`vivant judge-check`."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Annotated

from msgspec import structs
from typer import Argument, Option

from vivant.benchmarks.base import Protocol
from vivant.cli import judge_options as j
from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import parse_protocol, write_tables
from vivant.core.errors import UsageError
from vivant.core.table import Cell, Table
from vivant.judging.human_scores import read_human_scores
from vivant.judging.options import JudgeOptions
from vivant.judging.pairs import judge_pairs
from vivant.reporting.judges import build_judge_tables
from vivant.runs.run import Run, choose_common_protocol, load_runs

app = CommandApp()


@app.command()
@j.with_judges
def judge_check(
    human: Annotated[
        Path, Argument(metavar="HUMAN_SCORES", help="CSV, JSON or JSON lines: id, score[, model, annotator].")
    ],
    runs: Annotated[list[Path], Argument(metavar="RUN…", help="Judged runs.")],
    judges: list[JudgeOptions],
    by: Annotated[
        str, Option("--by", metavar="FACET", help="Also for each value of this facet.")
    ] = "category",
    pairs: Annotated[
        bool, Option("--pairs", help="Have --judge compare the runs' answers in both orders first.")
    ] = False,
    low: Annotated[
        float | None, Option("--low", help="Bottom of people's scale, where it is not the judge's.")
    ] = None,
    high: Annotated[
        float | None, Option("--high", help="Top of people's scale, where it is not the judge's.")
    ] = None,
    form: o.FormatOption = "text",
    protocol: o.ProtocolOption = None,
) -> None:
    """How good is a judge? All judges of the runs beside people's scores, beside each other and published figures.

    Pearson, Spearman, cosine, MSE, MAE and quadratic kappa with intervals; then what a judge may be swayed by:
    length, its own family, position, and figures that hardly vary.

    Example:

        vivant judge-check people.csv runs/mmie-a runs/mmie-b --judge openai/gpt-4o --pairs
    """
    if bool(judges) != pairs:
        raise UsageError(
            "--judge and --pairs go together here; to have answers scored: vivant score RUN --judge …"
        )
    if (low is None) != (high is None):
        raise UsageError("--low and --high go together: both ends of people's scale")
    scale = (low, high) if low is not None and high is not None else None
    if scale is not None and not scale[0] < scale[1]:
        raise UsageError(f"--low {low:g} must be below --high {high:g}")
    loaded = load_runs(runs)
    scores = structs.replace(read_human_scores(human, low, high), scale=scale)
    chosen_protocol = choose_common_protocol(loaded, parse_protocol(protocol))
    tables = [_compare_pairs(loaded, judges, chosen_protocol)] if pairs else []
    tables = build_judge_tables(scores, loaded, chosen_protocol, by) + tables
    write_tables(tables, form, None)


def _compare_pairs(runs: list[Run], judges: list[JudgeOptions], protocol: Protocol) -> Table:
    """Every two runs, compared by every judge in both orders."""
    if len(runs) < 2:
        raise UsageError("--pairs compares the answers of at least two runs")
    body: list[tuple[Cell, ...]] = []
    for judge in judges:
        for first, second in itertools.combinations(runs, 2):
            pairs = judge_pairs(first, second, judge, protocol)
            counts = Counter(pair.winner for pair in pairs)
            each = (counts[name] for name in ("first", "second", "tie", "inconsistent", "unparsed"))
            body.append((judge.model, first.name, second.name, *each, len(pairs)))
    return Table(
        title="Pairs, each judged in both orders",
        columns=(
            "judge",
            "first",
            "second",
            "first wins",
            "second wins",
            "ties",
            "inconsistent",
            "unparsed",
            "pairs",
        ),
        body=tuple(body),
        notes=("Inconsistent: the judge named the same place in both orders; nobody wins.",),
    )
