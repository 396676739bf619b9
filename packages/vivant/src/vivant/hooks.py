"""Everything a package can add to Vivant, on one page.

A package adds a feature by declaring an entry point in its pyproject.toml. Each group below is one kind of feature.
Listing a group imports nothing; an entry point is loaded when its feature is used.

    group                     the entry point names                                used by
    vivant.commands           a `Command`                                          vivant NAME
    vivant.models             a function (name, ModelOptions) -> Model, or a class vivant run --model NAME/…
    vivant.benchmarks         a `Benchmark` class                                  vivant run NAME
    vivant.scorers            a function (reply, accepted answers) -> 0…1          scorer: NAME in a YAML benchmark
    vivant.tables             a function (runs, protocol) -> Table                 vivant table --layout NAME
    vivant.report_sections    a function (runs, protocol) -> ReportSection or None vivant report
    vivant.exporters          a function (run, folder, protocol, values) -> paths  vivant export --as NAME
    vivant.people             a module or object that implements `People`          --corrected-by, --human, --study

`runs` are `vivant.Run` objects, `protocol` is "paper" or "strict", and `values` are the scoring settings given with
--set. Vivant's own names can't be replaced. If a hook is broken, only what it adds is lost: the error is one line that
names the hook and its package.

The packages vivant-study, vivant-build and vivant-train use these hooks and no others. docs/hooks.md has an example of
each.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from vivant.core.errors import UsageError, VivantError

if TYPE_CHECKING:  # `vivant --help` imports this module
    from importlib.metadata import Distribution

    from vivant.core.table import Table

COMMANDS = "vivant.commands"
MODELS = "vivant.models"
BENCHMARKS = "vivant.benchmarks"
SCORERS = "vivant.scorers"
TABLES = "vivant.tables"
REPORT_SECTIONS = "vivant.report_sections"
EXPORTERS = "vivant.exporters"
PEOPLE = "vivant.people"

PRODUCTS = ("study", "build", "train")
"""Our own packages besides this one, by their command, which is also the name of their extra."""
PRODUCT_MODELS = {"mimic-chat": "train"}
"""Backends that come with one of them."""


class Command(NamedTuple):
    """A command of `vivant`, described without importing the code that runs it."""

    app: str
    """`module:attribute` of a Typer application."""
    help: str
    """One line for `vivant --help`."""
    panel: str = "Plug-ins"
    """The heading in `vivant --help`."""


class ReportSection(NamedTuple):
    """A section of the HTML report."""

    title: str
    tables: tuple[Table, ...] = ()
    text: str = ""
    """A paragraph above the tables."""
    summary: str = ""
    """A few words shown next to the title while the section is folded. Default: the package's name."""


class NewStudy(Protocol):
    """What `People.make` wrote."""

    @property
    def items(self) -> int:
        """Items in the study."""

    @property
    def places(self) -> int:
        """Participants that the study needs."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the researcher should know."""


class FreeAnswer(NamedTuple):
    """What one person wrote about one sample."""

    sample: str
    """The sample's id; empty if the study doesn't know it."""
    text: str


class People(Protocol):
    """Studies with people."""

    def load(self, folder: Path, database: str | None = None) -> Any:
        """Return the judgements in a study, as a `vivant.analysis.correction.people.PeopleSource`."""

    def read_free_answers(self, folder: Path) -> list[FreeAnswer] | None:
        """Return what people wrote in a study; None if nobody has opened it yet."""

    def make(self, folder: Path, **settings: Any) -> NewStudy:
        """Write a study.

        Commands pass the settings they need: `kind` ("mcq", "free-then-mcq", "blind-comments" …), `origin` (runs,
        benchmarks or a pack), `only` (the samples to ask about, by origin), `data`, `where`, `seed`, `key`, `labels`,
        `judgements_per_item`, `odd_options`, `languages`, `title`, `question`, `copy`. Refuse what you don't support.
        """


class Hook(NamedTuple):
    """An installed entry point. importlib.metadata's own makes `vivant --help` a fifth slower."""

    group: str
    name: str
    value: str
    info: Path
    """The folder with the package's metadata."""

    @property
    def dist(self) -> Distribution:
        """The package that declares it."""
        from importlib.metadata import Distribution

        return Distribution.at(self.info)


def list_hooks(group: str) -> dict[str, Hook]:
    """Return the entry points of a group by name, without loading them."""
    return {hook.name: hook for hook in _read_hooks(_get_path_state()) if hook.group == group}


@lru_cache(maxsize=1)
def _read_hooks(state: tuple[tuple[str, int], ...]) -> list[Hook]:
    files: dict[str, Path] = {}
    for folder, _ in state:
        for file in Path(folder).glob("*-info/entry_points.txt"):
            # setuptools leaves name.egg-info beside the sources of a package that name-1.0.dist-info installs.
            name = file.parent.name.removesuffix(".egg-info").partition("-")[0]
            files.setdefault(re.sub(r"[-_.]+", "-", name).lower(), file)
    hooks = []
    for file in files.values():
        if "[vivant." in (text := file.read_text(encoding="utf-8", errors="replace")):
            for section in re.split(r"^\[", text, flags=re.MULTILINE)[1:]:
                group, _, lines = section.partition("]")
                pairs = re.findall(r"^[ \t]*([^=#\s][^=\n]*?)\s*=\s*([\w.:]+)", lines, re.MULTILINE)
                hooks += [Hook(group, name, value, file.parent) for name, value in pairs]
    return hooks


def _get_path_state() -> tuple[tuple[str, int], ...]:
    """Return Python's path and when each folder last changed: installing a package changes one of them."""
    folders = [Path(entry) for entry in sys.path]
    return tuple((str(folder), folder.stat().st_mtime_ns) for folder in folders if folder.exists())


def load_hook(group: str, name: str) -> Any:
    """Load one entry point. If it can't be loaded, raise UsageError with the package at fault."""
    hooks = [hook for hook in _read_hooks(_get_path_state()) if (hook.group, hook.name) == (group, name)]
    if len(hooks) > 1:
        raise _conflict_error(f"'{name}' ({group})", hooks)
    try:
        module, _, attribute = hooks[0].value.partition(":")
        return reduce(getattr, filter(None, attribute.split(".")), import_module(module))
    except Exception as error:
        raise hook_error(group, name, f"cannot be loaded: {describe_error(error)}") from error


def call_hook(group: str, name: str, *arguments: Any) -> Any:
    """Load a function and call it. If it raises, raise UsageError with the package at fault."""
    function = load_hook(group, name)
    try:
        return function(*arguments)
    except Exception as error:
        raise hook_error(group, name, f"failed: {describe_error(error)}") from error


def hook_error(group: str, name: str, problem: str) -> UsageError:
    """Return the error for a broken hook: what it adds, its code, its package and the problem, in one line."""
    hook = list_hooks(group)[name]
    kind = group.removeprefix("vivant.").removesuffix("s").replace("_", " ")
    return UsageError(f"The {kind} hook '{name}' ({hook.value}) from the package {hook.dist.name} {problem}")


def _conflict_error(feature: str, hooks: Iterable[Hook]) -> UsageError:
    packages = ", ".join(sorted(hook.dist.name for hook in hooks))
    return UsageError(f"Several packages provide {feature}: {packages}. Uninstall all but one.")


def describe_error(error: Exception) -> str:
    """Describe an exception in one line. Our own errors explain themselves without their class name."""
    if isinstance(error, ModuleNotFoundError):
        from vivant.core.optional_packages import describe_missing

        if remedy := describe_missing(error):
            return f"it {remedy}"
    text = str(error) if isinstance(error, VivantError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())


def load_people_hook() -> People:
    """Return the installed studies."""
    hooks = list_hooks(PEOPLE)
    if not hooks:
        raise missing_product_error("study")
    if len(hooks) > 1:
        raise _conflict_error("studies with people", hooks.values())
    (name,) = hooks
    people: People = load_hook(PEOPLE, name)
    for method in ("load", "read_free_answers", "make"):
        if not callable(getattr(people, method, None)):
            raise hook_error(PEOPLE, name, f"has no function {method}()")
    return people


def missing_product_error(name: str) -> UsageError:
    """Return the error for a command, model or file that needs a package of ours that isn't installed."""
    return UsageError(f"vivant {name} is not installed. Install it with: pip install 'vivant[{name}]'")


def format_missing(names: Sequence[str]) -> str:
    """Format the line of help about packages that aren't installed."""
    return f" Not installed: {', '.join(names)}. Add one with: pip install 'vivant[{names[0]}]'"
