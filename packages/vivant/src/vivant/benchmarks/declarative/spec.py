"""A benchmark in one YAML file: what the file may say, and reading it with errors that name the line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.declarative.answer_scorers import check_scorer
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.yaml_files import load_yaml_lines, read_plain

Scalar = str | int | float | bool
KeyForm = Literal["auto", "letter", "index", "number", "text"]
ALL = "all"
"""The name of the only task, where the file names none."""
PLACEHOLDERS = ("question", "options", "subtitles")
"""What a style's text may hold in braces."""
_PLACEHOLDER = re.compile(r"(?<!\w)\{(\w+)\}")  # not the \boxed{…} of a formula


class SourceSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the rows come from."""

    hub: str = ""
    """A dataset on the hub: `ORG/NAME`."""
    also: tuple[str, ...] = ()
    """Other ids of the same dataset, such as mirrors."""
    revision: str = "main"
    files: str | tuple[str, ...] = ()
    """Patterns of the data files below the data folder; `{task}` is the task's name, and of `one | other` the first
    that is there is read. Parquet, JSON, JSON lines, CSV,
    TSV; or media files, each of which is a row with `path`, `name`, `stem` and `folder`."""
    rows: str = ""
    """In a JSON file, where the list of rows is: `meta.{task}`."""
    where: Mapping[str, Scalar | tuple[Scalar, ...]] = field(default_factory=dict)
    """Only rows with these values."""
    archives: tuple[str, ...] = ()
    """Patterns of zip and tar archives to unpack; pieces of one archive are joined."""
    fetch: tuple[str, ...] = ("*",)
    """Patterns of the files of the repository that `vivant data get` fetches."""
    licence: str = "as the hub's page says"
    gated: bool = False
    size: str = ""


class ColumnSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which column is what.

    A text with braces is a template: `{videoID}.mp4`. A dot leads into a struct: `metadata.task`. A question mark
    allows that the column is missing or empty: `start?`. A tilde takes the part that a pattern encloses:
    `{id~validation_(.+)_}`.
    """

    id: str = ""
    """Default: the row's number, from 0."""
    question: str = ""
    options: str | tuple[str, ...] = ""
    """A column with a list, with texts by letter or with one text that shows all; or one column for each option."""
    key: str = ""
    """The right option: letter, index from 0, number from 1 or text, as `key_form` says."""
    key_form: KeyForm = "auto"
    """`auto` takes a letter, an option's text or a whole number; digits in a text need `index`."""
    answers: str = ""
    """Accepted texts of a question without options: a text or a list."""
    image: str | tuple[str, ...] = ()
    """Pictures: a path, bytes, base64, a struct of bytes and path, or a list of them."""
    video: str = ""
    audio: str = ""
    start: str = ""
    end: str = ""
    """The part of the video that is asked about, in seconds or h:m:s."""
    subtitles: str = ""
    """A subtitle file (SRT, VTT, JSON), or a column with the text."""
    subtitles_from: str = ""
    """The time of the subtitles' clock at which the video begins, in seconds."""
    facets: tuple[str, ...] | Mapping[str, str] = ()
    """Columns to filter and group by, or names with their columns."""
    cluster: str = ""
    """Rows with the same value are not independent. Default: the video."""
    group: str = ""
    """For `circular`: copies of one question share this value."""
    keep: tuple[str, ...] = ()
    """Columns that the scoring rule reads."""


class StyleSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a question is phrased in one style."""

    template: str = ""
    """The whole text, with `{question}`, `{options}` and `{subtitles}`."""
    instruction: str | None = None
    """What stands below the options."""
    free: str | None = None
    """What stands below a question without options."""
    subtitles: bool | Literal["frames", "between"] = False
    """Show the subtitles above the question: all of them, or those at the shown `frames`; or `between` the frames."""
    max_tokens: int = 0


class JudgeSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a judge is asked."""

    role: str
    criteria: Mapping[str, str] = field(default_factory=dict)
    scale: str = ""
    low: int = 0
    high: int = 1


class ScorerSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a reply to a question without options is scored."""

    name: str
    tolerance: float = 0.0
    """Of `number` and `relaxed`: how far off a number may be, as a part of it."""
    threshold: float | None = None
    """Of `anls` and `similarity`: below it a reply is worth 0; for `similarity`, from it on 1."""
    rubric: JudgeSpec | None = None


class PublishedSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Figures from a paper or a leaderboard, in percent."""

    values: Mapping[str, float]
    """By model."""
    source: str
    """Where they are printed, and how the models were asked, as far as it says so."""
    task: str = ""
    """Without one, the figures are of the only task; with several tasks, means over all, for the layout `official`."""
    style: str = "zero-shot"
    group: Mapping[str, str] = field(default_factory=dict)


class BenchmarkSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """One benchmark, or one task of it with what the task states for itself."""

    name: str
    columns: ColumnSpec
    title: str = ""
    summary: str = ""
    source: SourceSpec = SourceSpec()
    tasks: tuple[str, ...] | Mapping[str, Any] = ()
    """Names, or names with what differs from the rest of the file. Without any there is one task, `all`."""
    default: tuple[str, ...] = ()
    """The tasks that the benchmark's name alone means; all of them where it is empty."""
    media: str = ""
    """The folder that media paths are relative to, below the data folder."""
    frame_rate: float = 0.0
    """For videos that are folders of pictures: so many pictures make a second."""
    marks: str = ""
    """Where pictures stand in question and options: `<image {n}>` by number, `<image>` one after another."""
    absent: tuple[str, ...] = ("", "nan")
    """What a column of one option holds where there is no such option. Lists are taken as they are."""
    options_in_question: bool = False
    """The question's text shows the options already. Without an options column they are read from it."""
    shuffle: bool = True
    """Show options in an order drawn for each question."""
    option_form: str = "{letter}. {text}"
    styles: Mapping[str, StyleSpec | str] = field(default_factory=dict)
    """Texts alone are templates where they hold `{question}`, else instructions."""
    scorer: ScorerSpec | str = "choice"
    rules: tuple[str, ...] = ()
    """Other harnesses' scoring rules, for the protocol `paper`; the first is the default (`--set rule=HARNESS`)."""
    circular: bool = False
    """Copies of a question with rotated options count as one, right where all are (`columns.group`)."""
    macro: str = ""
    """The facet whose groups weigh the same in the harness's average (`--layout NAME:official`)."""
    chance: float | None = None
    size: int | Mapping[str, int] = 0
    """Expected number of rows of each task, or by task."""
    published: tuple[PublishedSpec, ...] = ()
    follows: str = ""
    """Which harness's rules these are, and at which version."""
    unverified: tuple[str, ...] = ()
    """What nobody has compared with the published data or figures."""

    @cached_property
    def scoring(self) -> ScorerSpec:
        """The scorer with its options."""
        return ScorerSpec(name=self.scorer) if isinstance(self.scorer, str) else self.scorer

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of the data files."""
        files = self.source.files
        return (files,) if isinstance(files, str) else files

    @cached_property
    def facet_columns(self) -> dict[str, str]:
        """Columns by facet."""
        facets = self.columns.facets
        if isinstance(facets, Mapping):
            return dict(facets)
        return {column.rpartition(".")[2]: column for column in facets}

    @cached_property
    def style_specs(self) -> dict[str, StyleSpec]:
        """Styles by name; without any, the usual ones."""
        styles = dict(self.styles) or {"zero-shot": StyleSpec(), "cot": StyleSpec()}
        specs = {name: _read_style(style) for name, style in styles.items()}
        if self.columns.subtitles and not any(_shows_subtitles(style) for style in specs.values()):
            specs["subtitles"] = msgspec.structs.replace(next(iter(specs.values())), subtitles=True)
        return specs


def _read_style(style: StyleSpec | str) -> StyleSpec:
    if isinstance(style, StyleSpec):
        return style
    return StyleSpec(template=style) if "{question}" in style else StyleSpec(instruction=style, free=style)


def _shows_subtitles(style: StyleSpec) -> bool:
    return bool(style.subtitles) or "{subtitles}" in style.template


class SpecFile(Struct, frozen=True, kw_only=True):
    """A description as read: the whole, each task, and where each field stands."""

    path: Path
    whole: BenchmarkSpec
    tasks: Mapping[str, BenchmarkSpec]
    lines: Mapping[str, int]
    """Line numbers by dotted path: `columns.key`."""

    def at(self, *paths: str) -> str:
        """The file and the line of the first of these fields that the file holds, for error messages."""
        line = next((self.lines[path] for path in paths if path in self.lines), 0)
        return f"{self.path}, line {line}" if line else str(self.path)


def read_spec(path: Path) -> SpecFile:
    """Read and check a description. Errors name the file, the line and the remedy."""
    plain, lines = load_yaml_lines(path)
    if not isinstance(plain, dict):
        raise DataError(
            f"{path} describes no benchmark; `vivant benchmarks new FILE.yaml --from DATA` drafts one"
        )
    whole = read_plain(path, plain, BenchmarkSpec, lines)
    tasks: dict[str, BenchmarkSpec] = {}
    if isinstance(whole.tasks, Mapping):
        base = {key: value for key, value in plain.items() if key != "tasks"}
        for name, changes in whole.tasks.items():
            own = {line.removeprefix(f"tasks.{name}."): number for line, number in lines.items()}
            tasks[name] = read_plain(path, _merge(base, changes or {}), BenchmarkSpec, own)
    else:
        tasks = dict.fromkeys(whole.tasks or (ALL,), whole)
    spec = SpecFile(path=path, whole=whole, tasks=tasks, lines=lines)
    _check(spec)
    return spec


def _merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _check(file: SpecFile) -> None:
    """What the types cannot say."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", file.whole.name):
        raise DataError(
            f"{file.at('name')}: the name is '{file.whole.name}'; use small letters, digits, '-', '_' and '.' alone"
        )
    for task, spec in file.tasks.items():
        if not task or "/" in task:
            raise DataError(f"{file.at('tasks')}: a task is called '{task}'; use a name without '/'")
        columns, prefix = spec.columns, f"tasks.{task}."
        scorer = spec.scoring
        try:
            check_scorer(scorer.name)
        except UsageError as error:
            raise DataError(f"{file.at(prefix + 'scorer', 'scorer')}: {error}") from error
        if scorer.name == "judge" and scorer.rubric is None:
            raise DataError(f"{file.at(prefix + 'scorer', 'scorer')}: a judge needs a `rubric` with a `role`")
        if not (columns.question or columns.image or columns.video or columns.audio):
            raise DataError(
                f"{file.at('columns')}: name a column for `question`, `image`, `video` or `audio`"
            )
        for name, style in spec.style_specs.items():
            _check_style(file.at(f"{prefix}styles.{name}", f"styles.{name}", "styles"), style)
        styles = spec.style_specs.values()
        if not columns.question and not all(s.template or s.instruction or s.free for s in styles):
            raise DataError(
                f"{file.at(prefix + 'columns', 'columns')}: name the column of the `question`, or ask in `styles`"
            )
        if not (columns.key or columns.answers) and scorer.name != "judge":
            raise DataError(f"{file.at('columns')}: name the column of the `key`, or of the `answers`")
        if columns.key and not columns.options and not spec.options_in_question:
            raise DataError(
                f"{file.at('columns.key')}: a `key` goes with `options`; for a free answer use `answers`"
            )
        if spec.circular and not columns.group:
            raise DataError(f"{file.at('circular')}: `circular` needs `columns.group`")
        _check_rules(file, spec, prefix)
    whole = file.whole
    named = {
        "default": whole.default,
        "published": tuple(row.task for row in whole.published if row.task),
        "size": tuple(whole.size) if isinstance(whole.size, Mapping) else (),
    }
    for field_name, names in named.items():
        for name in names:
            if name not in file.tasks:
                raise DataError(f"{file.at(field_name)}: {unknown_name_error('task', name, file.tasks)}")


def _check_rules(file: SpecFile, spec: BenchmarkSpec, prefix: str) -> None:
    from vivant.metrics.harness_rules import find_rule

    for rule in spec.rules:
        try:
            find_rule(rule)
        except UsageError as error:
            raise DataError(f"{file.at(prefix + 'rules', 'rules')}: {error}") from None
    if spec.macro and spec.macro not in spec.facet_columns and spec.macro != "task":
        text = unknown_name_error("facet", spec.macro, spec.facet_columns)
        raise DataError(f"{file.at(prefix + 'macro', 'macro')}: {text}")


def _check_style(where: str, style: StyleSpec) -> None:
    """A placeholder that is nearly a known one would be sent as it stands. Other braces are the text's own."""
    for text in (style.template, style.instruction or "", style.free or ""):
        for name in _PLACEHOLDER.findall(text):
            near = difflib.get_close_matches(name, PLACEHOLDERS, n=1, cutoff=0.75)
            if near and name not in PLACEHOLDERS:
                raise DataError(f"{where}: Unknown placeholder {{{name}}}; did you mean {{{near[0]}}}?")
