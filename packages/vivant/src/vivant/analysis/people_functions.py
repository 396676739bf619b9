"""What `import vivant` offers around people's judgements: corrected scores, and studies that ask for more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vivant.benchmarks.base import Protocol
from vivant.core.arguments import as_strings
from vivant.core.errors import UsageError
from vivant.core.table import Table
from vivant.runs.run import RunLike, load_runs

if TYPE_CHECKING:
    from vivant.analysis.correction.judge_plan import AskingPlan


def corrected(
    runs: RunLike | Sequence[RunLike],
    people: str | Path | Sequence[str | Path],
    by: str | Sequence[str] = (),
    where: str | Sequence[str] = (),
    *,
    protocol: Protocol | None = None,
) -> Table:
    """A judge's scores corrected by people's of a part. `vivant table --corrected-by` prints it.

    >>> vivant.corrected("runs/mmie", "studies/ratings")

    Args:
        runs: Judged runs, run directories, or folders of them; none where people judged a pack of comments.
        people: A study, its export, or a file of scores or labels; several of one kind count as one.
        by: Facets to group by.
        where: Conditions on samples, as `facet=value`.
        protocol: `paper` or `strict`.
    """
    from vivant.analysis.correction.correction_table import build_corrected_table

    sources = [people] if isinstance(people, str | Path) else list(people)
    loaded = load_runs(runs) if not isinstance(runs, Sequence) or runs else []
    return build_corrected_table(loaded, sources, protocol, as_strings(by), as_strings(where))


def plan_judgements(
    runs: RunLike | Sequence[RunLike],
    people: str | Path | Sequence[str | Path] = (),
    *,
    half_width: float = 3.0,
    study: str | Path | None = None,
    count: int | None = None,
    by: str | Sequence[str] = (),
    pairs: bool = False,
    labels: bool = False,
    key: str | Path | None = None,
    judgements_per_item: int = 1,
    protocol: Protocol | None = None,
    seed: int = 0,
) -> AskingPlan:
    """How many judgements by people a corrected score needs, and of which answers. `vivant judge plan` prints it.

    >>> vivant.plan_judgements("runs/mmie", half_width=3, study="studies/pilot")

    Args:
        runs: Judged runs, run directories, or folders of them; a pack of comments with `key`.
        people: What people have judged so far: studies or files, in the order in which they were planned.
        half_width: Half of the interval that you want, in hundredths of the scale.
        study: Write a study of exactly these answers into this folder.
        count: Ask about so many answers now, whatever the interval.
        by: Facets whose values are strata.
        pairs: Plan comparisons of two runs.
        labels: Plan labels of reasoning, of one run.
        key: The sealed key of a pack.
        judgements_per_item: From how many people, in the study.
        protocol: `paper` or `strict`.
        seed: Of the draw.
    """
    from vivant.analysis.correction.judge_plan import plan_comments, plan_people
    from vivant.analysis.correction.planned_study import write_planned_study

    sources = [people] if isinstance(people, str | Path) else list(people)
    strata = as_strings(by)
    if key is not None:
        if not isinstance(runs, str | Path) or pairs or labels:
            raise UsageError("With a key, name one pack of comments alone")
        result = plan_comments(
            Path(runs), Path(key), sources, half_width=half_width, count=count, by=strata, seed=seed
        )
    else:
        result = plan_people(
            load_runs(runs),
            sources,
            half_width=half_width,
            count=count,
            by=strata,
            pairs=pairs,
            labels=labels,
            protocol=protocol,
            seed=seed,
        )
    if study is not None:
        write_planned_study(result, Path(study), judgements_per_item)
    return result
