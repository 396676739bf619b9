"""Published rows beside measured ones: which are shown, and how asking differed.

A row is shown with notes on what its recipe did otherwise, one note per kind of difference. `exact` shows only rows
whose recipe a run was asked by. Runs on a bundled mini-edition stand beside no published row unless the user asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Literal

from msgspec import Struct

from vivant import mini
from vivant.benchmarks import registry
from vivant.benchmarks.base import Benchmark, Published
from vivant.benchmarks.official_wording import wording_digest
from vivant.benchmarks.recipes import FIELDS, NOT_STATED, RowRecipe, list_row_recipes, load_recipes
from vivant.benchmarks.wording import JUDGE
from vivant.runs.judgements import read_panel
from vivant.runs.recipe_differences import TITLES, RecipeDifference, list_recipe_differences
from vivant.runs.run import Run

PublishedChoice = Literal["auto", "none", "all", "exact"]
"""`auto` is all of them, but none beside a mini-edition."""
PublishedOption = bool | Literal["exact"]
"""As a user asks for them."""
_SHORT = 3
"""So many rows are named in a note."""


class PublishedSelection(Struct, frozen=True):
    """The published rows that a table shows, and the notes that belong to them."""

    rows: tuple[Published, ...]
    notes: tuple[str, ...] = ()
    other_edition: bool = False
    """Whether a run used the bundled mini-edition: the rows are of another edition, and no reference for its scores."""

    def restrict(self, benchmark: Benchmark) -> Benchmark:
        """The benchmark as tables should see it: with these published rows alone."""
        shown = {(figure.model, figure.style) for figure in self.rows}
        names = {model for model, _ in shown}
        restricted = copy(benchmark)
        vars(restricted)["published"] = benchmark.published.select(
            lambda model, style: (model, style) in shown if style else model in names
        )
        return restricted


def select_published(
    benchmark: Benchmark, runs: Sequence[Run], choice: PublishedChoice
) -> PublishedSelection:
    """The rows of one benchmark that belong beside these runs."""
    own = [
        run for run in runs if any(task.partition("/")[0] == benchmark.name for task in run.manifest.tasks)
    ]
    figures = benchmark.published.rows()
    if choice == "none" or not figures or not own:
        return PublishedSelection(())
    if choice == "auto" and uses_mini(own, benchmark.name):
        note = (
            f"Published rows of {benchmark.title} are left out: the runs used the bundled mini-edition. "
            "--published shows them all the same."
        )
        return PublishedSelection((), (note,))
    recipes = list_row_recipes(benchmark.name)
    differences = {
        (row, run.name): [
            *list_recipe_differences(recipe, run.manifest.settings, run.manifest.planned),
            *_compare_scoring(benchmark, recipe, run),
        ]
        for row, recipe in recipes.items()
        for run in own
    }
    if choice == "exact":
        matching = {row for (row, _), changes in differences.items() if not changes and recipes[row].wording}
        figures = [figure for figure in figures if (figure.model, figure.style) in matching]
        if not figures:
            note = (
                f"No published row of {benchmark.title} was asked as these runs were, so none is shown. "
                f"vivant recipes {benchmark.name} lists how each was asked."
            )
            return PublishedSelection((), (note,))
        return PublishedSelection(
            tuple(figures), (_describe_unstated(recipes, matching),), uses_mini(own, benchmark.name)
        )
    return PublishedSelection(
        tuple(figures),
        tuple(_describe_differences(benchmark, own, recipes, differences)),
        uses_mini(own, benchmark.name),
    )


def _compare_scoring(benchmark: Benchmark, recipe: RowRecipe, run: Run) -> list[RecipeDifference]:
    """Where a run's replies were read by another rule than the row's, in the protocol `paper`."""
    header = run.dir.score_header("paper")
    differences: list[RecipeDifference] = []
    for task in run.manifest.tasks:
        if task.partition("/")[0] != benchmark.name or not recipe.scoring:
            continue
        values = (header.values.get(task, {}) if header else {}) or benchmark.settings
        here, there = (
            ", ".join(f"{name}={settings[name]}" for name in recipe.scoring)
            for settings in ({**benchmark.settings, **values}, recipe.scoring)
        )
        if here != there:
            differences.append(RecipeDifference("scoring", here, there))
    return differences


def uses_mini(runs: Iterable[Run], benchmark: str) -> bool:
    """Whether any of the runs used the bundled edition, which no published figure was measured on."""
    return any(
        mini.is_bundled(root, benchmark)
        for run in runs
        for task, root in run.manifest.roots.items()
        if task.partition("/")[0] == benchmark
    )


def _describe_unstated(recipes: dict[tuple[str, str], RowRecipe], rows: set[tuple[str, str]]) -> str:
    fields = ("media", "frames", "reply_limit", "temperature")
    missing = {FIELDS[f] for row in rows for f in fields if recipes[row].fields.get(f) is None}
    tail = (
        f" Not stated by the original, and so not compared: {', '.join(sorted(missing))}." if missing else ""
    )
    return f"Published rows: those whose recipe a run here was asked by.{tail}"


def _describe_differences(
    benchmark: Benchmark,
    runs: Sequence[Run],
    recipes: dict[tuple[str, str], RowRecipe],
    differences: dict[tuple[tuple[str, str], str], list[RecipeDifference]],
) -> list[str]:
    """One note per kind of difference between the runs and the published rows."""
    notes: list[str] = []
    if uses_mini(runs, benchmark.name):
        notes.append(
            "Edition: the runs used the bundled mini-edition, the published rows the full benchmark."
        )
    if not recipes:
        sources = "; ".join(dict.fromkeys(row.source for row in benchmark.published.rows() if row.source))
        return [
            *notes,
            f"Published rows of {benchmark.title}: {sources or 'no source stated'}. "
            "No more is stated of how they were asked.",
        ]
    # A style of its own is another row, not another way of asking the same one.
    styles = {run.manifest.style for run in runs}
    compared = {
        key: changes
        for key, changes in differences.items()
        if recipes[key[0]].sets.get("style", key[0][1]) in styles
    }
    for field, title in TITLES.items():
        if field == "style":
            continue
        here: dict[str, list[str]] = {}
        there: dict[str, list[str]] = {}
        known = {
            key: f for key, f in compared.items() if field == "items" or recipes[key[0]].status != NOT_STATED
        }
        for (row, run), changes in known.items():
            for difference in changes:
                if difference.field == field:
                    here.setdefault(difference.run_value, []).append(run)
                    there.setdefault(difference.recipe_value, []).append(row[0])
        if here:
            ours = "; ".join(_name(text, names, len(runs)) for text, names in here.items())
            models = len({row[0] for row, _ in known})
            theirs = "; ".join(_name(text, names, models) for text, names in there.items())
            notes.append(f"{title[0].upper()}{title[1:]}: here {ours}. Published rows: {theirs}.")
    notes += _describe_judging(benchmark, runs)
    unknown = [recipe for recipe in recipes.values() if recipe.status == NOT_STATED]
    if unknown:
        notes.append(
            f"How {len(unknown)} of {len(recipes)} published rows were asked is not stated "
            f"(vivant recipes {benchmark.name})."
        )
    return notes


def _describe_judging(benchmark: Benchmark, runs: Sequence[Run]) -> list[str]:
    """Whether judges were asked in the original's words, where a judge decides."""
    official = {
        key: line.sha256 for key, line in load_recipes(benchmark.name).words.items() if key.startswith(JUDGE)
    }
    if not official:
        return []
    rubrics = [
        rubric
        for run in runs
        for judgements in read_panel(run.dir.path, "paper")
        for rubric in judgements.manifest.settings.rubrics
    ]
    if all(
        wording_digest(rubric.message) == official.get(f"{JUDGE}{rubric.name}.message") for rubric in rubrics
    ):
        return []
    return ["Wording of the judge: here Vivant's own or the user's. Published rows: the original's."]


def _name(text: str, names: Sequence[str], everybody: int) -> str:
    """A setting and who has it, where not all have."""
    distinct = list(dict.fromkeys(names))
    if len(distinct) >= everybody or everybody == 1:
        return text
    more = len(distinct) - _SHORT
    tail = f" and {more} more" if more > 0 else ""
    return f"{text} ({', '.join(distinct[:_SHORT])}{tail})"


def list_selections(runs: Sequence[Run], choice: PublishedChoice) -> dict[str, PublishedSelection]:
    """By benchmark of these runs, the published rows to show."""
    names = dict.fromkeys(task.partition("/")[0] for run in runs for task in run.manifest.tasks)
    return {name: select_published(registry.get(name), runs, choice) for name in names}
