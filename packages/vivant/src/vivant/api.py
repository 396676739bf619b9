"""What `import vivant` offers, for scripts and notebooks. The command line calls the same functions.

Messages go to the logger `vivant`: `logging.basicConfig(level="INFO")` shows them, and
`logging.getLogger("vivant").setLevel("WARNING")` switches progress off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from vivant.analysis.comparison import Comparison, compare
from vivant.analysis.people_functions import corrected, plan_judgements
from vivant.analysis.ranking import RunRanking, rank
from vivant.analysis.subset_making import make_subset
from vivant.benchmarks.base import Protocol
from vivant.core.arguments import as_strings
from vivant.core.errors import UsageError, VivantError
from vivant.core.table import Table
from vivant.core.types import Decoding, FramePolicy
from vivant.engine.evaluation import evaluate, evaluate_async
from vivant.engine.option_parsing import make_options
from vivant.engine.retry import RetryPolicy
from vivant.engine.sweep import Sweep
from vivant.judging.options import JudgeOptions
from vivant.models.base import ModelOptions
from vivant.reporting.item_analysis import BenchmarkItems, items
from vivant.runs.importing import import_predictions
from vivant.runs.run import Run, RunLike, load_run, load_runs

if TYPE_CHECKING:
    from vivant.engine.run_arguments import RunArguments, SweepArguments

__all__ = [
    "BenchmarkItems",
    "Comparison",
    "Decoding",
    "FramePolicy",
    "JudgeOptions",
    "ModelOptions",
    "RetryPolicy",
    "Run",
    "RunRanking",
    "Sweep",
    "Table",
    "VivantError",
    "compare",
    "controls",
    "corrected",
    "evaluate",
    "evaluate_async",
    "export",
    "figures",
    "import_predictions",
    "import_results",
    "item_study",
    "items",
    "judge",
    "load_run",
    "load_runs",
    "make_subset",
    "permutations",
    "plan",
    "plan_judgements",
    "rank",
    "repeats",
    "report",
    "sweep",
    "table",
]


def table(
    runs: RunLike | Sequence[RunLike],
    by: str | Sequence[str] = (),
    where: str | Sequence[str] = (),
    *,
    protocol: Protocol | None = None,
    layout: str | None = None,
    published: bool | Literal["exact"] = False,
    chance_corrected: bool = False,
    intervals: Literal["auto", "bootstrap"] = "auto",
    values: Mapping[str, Any] | None = None,
) -> Table:
    """Scores of one or several runs, with intervals, n, errors and unparsed replies. `vivant table` prints it.

    >>> vivant.table("runs", by="variant")

    Args:
        runs: Runs, run directories, or folders of them.
        by: Facets to group by, such as `variant`. A run that does not have them keeps one line.
        where: Conditions on samples, as `facet=value`.
        protocol: `paper` or `strict`. None takes the first that all benchmarks have.
        layout: A benchmark's own table in place of this one, such as `mime:1`, with `protocol`, `published` and
            `values` alone; or the table of an installed package, with `protocol` alone.
        published: Add the papers' own figures; `exact` adds only rows whose recipe a run was asked by.
        chance_corrected: Add the score with chance as 0.
        intervals: `bootstrap` resamples clusters in place of formulas.
        values: Scoring settings other than the defaults, such as `{"threshold": 0.75}`.
    """
    from vivant.runs.overview import build_layout, build_overview

    loaded = load_runs(runs)
    if layout is not None:
        if by or where or chance_corrected or intervals != "auto":
            raise UsageError(
                f"The layout {layout} has its own groups and columns; it takes `protocol`, `published` and `values` "
                "alone"
            )
        return build_layout(layout, loaded, protocol, published, values)
    return build_overview(
        loaded,
        protocol,
        as_strings(by),
        as_strings(where),
        published,
        chance_corrected=chance_corrected,
        intervals=intervals,
        values=values,
    )


def repeats(
    runs: RunLike | Sequence[RunLike], where: str | Sequence[str] = (), *, protocol: Protocol | None = None
) -> Table:
    """Runs made with `repeat`: spread, pass@k, agreement of answers. `vivant table --repeats` prints it.

    Args:
        runs: Runs, run directories, or folders of them.
        where: Conditions on samples, as `facet=value`.
        protocol: `paper` or `strict`.
    """
    from vivant.reporting.robustness import build_repeats_table

    return build_repeats_table(load_runs(runs), protocol, as_strings(where))


def permutations(
    runs: RunLike | Sequence[RunLike], where: str | Sequence[str] = (), *, protocol: Protocol | None = None
) -> list[Table]:
    """Runs made with `permute`: consistent accuracy, preference for places. `vivant table --permutations` prints it.

    Args:
        runs: Runs, run directories, or folders of them.
        where: Conditions on samples, as `facet=value`.
        protocol: `paper` or `strict`.
    """
    from vivant.reporting.robustness import build_permutation_tables

    return build_permutation_tables(load_runs(runs), protocol, as_strings(where))


def controls(
    runs: RunLike | Sequence[RunLike],
    by: str | Sequence[str] = (),
    where: str | Sequence[str] = (),
    *,
    protocol: Protocol | None = None,
) -> Table:
    """A run and others of its model with `control`: what is left without pictures, without order.

    Args:
        runs: Runs, run directories, or folders of them.
        by: Facets to group by.
        where: Conditions on samples, as `facet=value`.
        protocol: `paper` or `strict`.
    """
    from vivant.reporting.robustness import build_controls_table

    return build_controls_table(load_runs(runs), protocol, as_strings(by), as_strings(where))


def plan(selectors: str | Sequence[str], model: str, **options: Unpack[RunArguments]) -> Table:
    """What `evaluate` with the same arguments would send, and what it may cost. Sends nothing, needs no key.

    >>> vivant.plan("mime", "openai/gpt-4o-mini", data="mini")

    Args:
        selectors: As for `evaluate`.
        model: As for `evaluate`.
        options: Everything else that `evaluate` takes.
    """
    from vivant.engine.plan_table import build_plan_table
    from vivant.engine.run_planning import plan_run

    run_options = make_options(selectors=selectors, model=model, **options)
    return build_plan_table(plan_run(run_options, needs_key=False), run_options)


def sweep(
    selectors: str | Sequence[str],
    model: str,
    *,
    frames: Sequence[int],
    figure: str | Path | None = None,
    **options: Unpack[SweepArguments],
) -> Sweep:
    """Evaluate with several numbers of frames, one run each; each video is decoded once.

    >>> vivant.sweep("mmrv", "openai/gpt-4o-mini", frames=[8, 16, 32], data="mini").table()

    Args:
        selectors: As for `evaluate`.
        model: As for `evaluate`.
        frames: Numbers of frames.
        figure: Where to draw the curve (.svg, .pdf, .png); needs matplotlib.
        options: Everything else that `evaluate` takes, besides its choices of frames.
    """
    from vivant.engine.sweep import run_sweep

    run_options = make_options(selectors=selectors, model=model, **options)
    points = run_sweep(run_options, frames)
    if len(points) < len(set(frames)):
        raise KeyboardInterrupt("Stopped. The same call resumes the sweep")
    if figure is not None:
        from vivant.reporting.sweep_figure import draw_sweep

        draw_sweep(points, Path(figure))
    return Sweep(tuple(points))


def judge(
    run: Run | str | Path,
    judges: str | JudgeOptions | Sequence[str | JudgeOptions],
    *,
    protocol: Protocol | None = None,
) -> Run:
    """Have a run's free answers judged, and return the run; verdicts that are there are not asked for again.

    >>> vivant.judge("runs/mmie-gpt", "openai/gpt-4o").table()

    Args:
        run: A run, or its directory.
        judges: Models that judge, as `openai/NAME`, or `JudgeOptions` for all that can be said about one.
        protocol: `paper` or `strict`. None takes the first that the run's benchmarks have.
    """
    from vivant.judging.judge_run import judge_run

    loaded = run if isinstance(run, Run) else load_run(run)
    named = [judges] if isinstance(judges, str | JudgeOptions) else judges
    options = [JudgeOptions(model=each) if isinstance(each, str) else each for each in named]
    outcome = judge_run(loaded, options, protocol)
    if outcome.stopped:
        raise KeyboardInterrupt(f"Stopped after {outcome.done} verdicts. The same call goes on")
    return loaded


def report(
    runs: RunLike | Sequence[RunLike],
    out: str | Path = "report.html",
    *,
    protocol: Protocol | None = None,
    title: str = "",
    corrected_by: str | Path | Sequence[str | Path] = (),
) -> Path:
    """Write a report on runs, one HTML file that opens from disk with no network, and return its path.

    Args:
        runs: Runs, run directories, or folders of them.
        out: The file to write.
        protocol: `paper` or `strict`. None takes the first that all benchmarks have.
        title: The page's title. Default: models and benchmarks.
        corrected_by: What people judged, as for `corrected`; adds a section with judges' scores corrected by theirs.
    """
    from vivant.reporting.html import write_report

    table = corrected(runs, corrected_by, protocol=protocol) if corrected_by else None
    return write_report(runs, out, protocol, title, table)


def figures(
    runs: RunLike | Sequence[RunLike],
    out: str | Path,
    *,
    form: Literal["svg", "pdf", "png"] = "svg",
    protocol: Protocol | None = None,
    width: Literal["column", "page"] = "column",
    font_size: float = 8.0,
    latex: bool = False,
) -> list[Path]:
    """Draw what the benchmarks' papers draw, and return the files. Needs matplotlib.

    Args:
        runs: Runs, run directories, or folders of them.
        out: The folder to draw into.
        form: Kind of file.
        protocol: `paper` or `strict`.
        width: One column of a paper, or the page.
        font_size: In points, at the printed size.
        latex: Let LaTeX set the labels; it must be installed.
    """
    from vivant.reporting.figure_style import FigureStyle
    from vivant.reporting.figures import draw_figures

    style = FigureStyle(width=width, font_size=font_size, latex=latex)
    return draw_figures(load_runs(runs), Path(out), f".{form}", protocol, style)


def export(
    run: Run | str | Path,
    kind: str,
    out: str | Path,
    *,
    protocol: Protocol | None = None,
    values: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write a run in a benchmark's native files, as another harness's log, or in a format that a package adds.

    Returns the files.

    Args:
        run: A run, or its directory.
        kind: `inspect`, a native format (`vivant benchmarks show NAME` lists them), or the exporter of an installed
            package.
        out: The folder to write to.
        protocol: `paper` or `strict`.
        values: Scoring settings other than the defaults.
    """
    from vivant.bridges.formats import export_results

    return export_results(kind, run if isinstance(run, Run) else load_run(run), Path(out), protocol, values)


def import_results(
    path: str | Path, kind: str, out: str | Path | None = None, *, model: str | None = None
) -> list[Run]:
    """Turn another harness's results into runs that hold its replies and its scores.

    Args:
        path: A log of Inspect, a samples file of lmms-eval, a result file of VLMEvalKit, or a folder of them.
        kind: `inspect`, `lmms-eval` or `vlmevalkit`.
        out: The run directory; with several files, the folder of their run directories. Default: in `runs`.
        model: Name of the model. Default: from the file.
    """
    from vivant.bridges.formats import import_results as read

    return read(kind, Path(path), None if out is None else Path(out), model)


def item_study(items: BenchmarkItems, folder: str | Path, judgements_per_item: int = 5) -> None:
    """Write a study that puts suspect and ambiguous items to people. `vivant items --study` does the same.

    Args:
        items: What `vivant.items` returned; its `kinds`, where it has any, say which findings are asked about.
        folder: Where to write the study; it must be empty or absent.
        judgements_per_item: From how many people each item gets an answer.
    """
    from vivant.analysis.items.item_study import write_item_study

    write_item_study(items.analyses, Path(folder), items.kinds, judgements_per_item)
