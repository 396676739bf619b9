"""Recipes: how each published row was asked, as data beside each benchmark (`recipes.yaml`).

A recipe states fields (media, frames, order, wording, limits …), each with its source in the original repository, and
the options of a run that reproduce it. A field that the original does not state is absent: `not stated`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from msgspec import Struct, field, structs

from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.yaml_files import read_resource

FILE = "recipes.yaml"
_BENCHMARKS = ("mime", "mmrv", "milebench", "mmie")
NOT_STATED: Literal["not stated"] = "not stated"
FIELDS: Mapping[str, str] = {
    "model": "model",
    "style": "style",
    "data": "data",
    "media": "video sent as",
    "frames": "frames",
    "size": "picture size",
    "detail": "picture detail",
    "order": "order",
    "wording": "wording",
    "options": "options",
    "reply_limit": "reply limit",
    "temperature": "temperature",
    "demonstrations": "demonstrations",
    "judge": "judge",
    "scoring": "scoring rule",
}
"""What a recipe may state, in the order shown, and how it is called."""

RecipeStatus = Literal["complete", "partly known", "not stated"]


class RecipeField(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that the original states."""

    stated: str
    source: str = ""
    """File and line in the original repository, or where else it is stated."""
    sets: Mapping[str, Any] = field(default_factory=dict)
    """Options of a run that do the same, by their names in `vivant.evaluate`."""


class WordingPlace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the original keeps one of its prompt texts (see `official_wording`)."""

    file: str
    symbol: str = ""
    """A function, as `Class.method`; empty for the module itself."""
    when: str = ""
    """Only in the branch of an `if` with this test; `not TEST` is its `else`."""
    variable: str = ""
    """The text is assigned to this name (and added to with `+=`)."""
    call: str = ""
    """The text is an argument of a call of this function."""
    entry: str = ""
    """The text is the value of this key of a dict."""
    returned: bool = False
    """The text is returned."""
    number: int = 0
    """Which of several such texts, from 0; for `variable`, which of its `+=` parts."""
    part: bool = False
    """For `variable`: only the piece that `number` says, not all of them joined."""
    fills: Mapping[str, str] = field(default_factory=dict)
    """Expressions of the original by the placeholder that Vivant has for them."""
    formatted: bool = False
    """The text is filled in with `str.format` later on."""
    strip: str = ""
    """Characters to take off both ends."""
    after: str = ""
    """What the original adds behind it."""
    sha256: str = ""
    """The first 16 digits for the finished text, at the commit that the recipes were read from."""


class RowRecipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one published row was asked."""

    row: str = ""
    """The model's name in the published table."""
    style: str = ""
    """The row's style, as published figures name it."""
    status: RecipeStatus | Literal[""] = ""
    """How much of the row's asking is known; that of `like` where it is empty, else `not stated`."""
    like: str = ""
    """Another recipe, whose fields hold where this one states none."""
    fields: Mapping[str, RecipeField | None] = field(default_factory=dict)
    """By the names of `FIELDS`; null takes back what `like` states."""
    wording: Mapping[str, str] = field(default_factory=dict)
    """Prompt name → key in the file that `vivant recipes wording` writes."""
    scoring: Mapping[str, Any] = field(default_factory=dict)
    """Scoring settings of the row, for the protocol `paper`."""
    differs: tuple[str, ...] = ()
    """What a run by this recipe still does otherwise."""
    name: str = ""
    benchmark: str = ""

    @property
    def sets(self) -> dict[str, Any]:
        """All options that the recipe sets; mappings of several fields are merged."""
        merged: dict[str, Any] = {}
        for stated in self.fields.values():
            for option, value in (stated.sets if stated is not None else {}).items():
                merged[option] = {**merged.get(option, {}), **value} if isinstance(value, dict) else value
        return merged

    def state(self, name: str) -> str:
        """A field in words."""
        stated = self.fields.get(name)
        return NOT_STATED if stated is None else stated.stated


class RecipeFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`recipes.yaml` of one benchmark."""

    repository: str
    commit: str
    date: str
    items: Mapping[str, int] = field(default_factory=dict)
    """Questions per task behind the published rows."""
    words: Mapping[str, WordingPlace] = field(default_factory=dict)
    """Prompt texts by key."""
    recipes: Mapping[str, RowRecipe] = field(default_factory=dict)


def has_recipes(benchmark: str) -> bool:
    """Whether a benchmark comes with recipes."""
    return benchmark.isidentifier() and files("vivant.benchmarks").joinpath(benchmark, FILE).is_file()


@cache
def load_recipes(benchmark: str) -> RecipeFile:
    """The recipes of a benchmark, with `like` resolved."""
    if not has_recipes(benchmark):
        raise UsageError(
            f"{benchmark} has no recipes; {', '.join(_BENCHMARKS[:-1])} and {_BENCHMARKS[-1]} have"
        )
    content = read_resource(f"vivant.benchmarks.{benchmark}", FILE, RecipeFile)
    recipes: dict[str, RowRecipe] = {}
    for name, recipe in content.recipes.items():
        resolved = _resolve(recipe, content.recipes)
        status = resolved.status or NOT_STATED
        recipes[name] = structs.replace(resolved, name=name, benchmark=benchmark, status=status)
    for recipe in recipes.values():
        unknown = set(recipe.fields) - set(FIELDS)
        if unknown:
            raise unknown_name_error(f"field of the recipe {recipe.name}", min(unknown), FIELDS)
    return structs.replace(content, recipes=recipes)


def _resolve(recipe: RowRecipe, others: Mapping[str, RowRecipe]) -> RowRecipe:
    if not recipe.like:
        return recipe
    base = _resolve(others[recipe.like], others)
    return structs.replace(
        recipe,
        like="",
        row=recipe.row or base.row,
        style=recipe.style or base.style,
        status=recipe.status or base.status,
        fields={**base.fields, **recipe.fields},
        wording=recipe.wording or base.wording,
        scoring=recipe.scoring or base.scoring,
        differs=recipe.differs or base.differs,
    )


def find_recipe(benchmark: str, name: str) -> RowRecipe:
    """A recipe by name, with or without the benchmark and `paper/` before it."""
    name = name.removeprefix(f"{benchmark}/")
    recipes = load_recipes(benchmark).recipes
    full = name if name in recipes else f"paper/{name}"
    if full in recipes:
        return recipes[full]
    for other in _list_owners(name):
        if other != benchmark:
            raise UsageError(f"The recipe '{name}' is one of {other}, not of {benchmark}")
    raise unknown_name_error(f"recipe of {benchmark}", name, recipes, f"(see `vivant recipes {benchmark}`)")


def find_owner(name: str) -> str:
    """The benchmark of a recipe: the one written before its name (`mime/gpt-4o-mini`), or the only one that has it."""
    written = name.partition("/")[0]
    owners = [written] if written in _BENCHMARKS else _list_owners(name)
    if len(owners) == 1:
        return owners[0]
    if not owners:
        every = [recipe for benchmark in _BENCHMARKS for recipe in load_recipes(benchmark).recipes]
        raise unknown_name_error("recipe", name, every, "(see `vivant recipes BENCHMARK`)")
    raise UsageError(
        f"{' and '.join(owners)} each have a recipe '{name}': name the benchmark, e.g. {owners[0]}"
    )


def _list_owners(name: str) -> list[str]:
    names = {name, f"paper/{name}"}
    return [benchmark for benchmark in _BENCHMARKS if not names.isdisjoint(load_recipes(benchmark).recipes)]


def list_row_recipes(benchmark: str) -> dict[tuple[str, str], RowRecipe]:
    """Recipes by the model and the style of their published rows."""
    if not has_recipes(benchmark):
        return {}
    return {(recipe.row, recipe.style): recipe for recipe in load_recipes(benchmark).recipes.values()}
