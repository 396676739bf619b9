"""The answers of many runs to the items of one task, as a matrix. 30 runs of 10,000 items take a few seconds.

Options are compared by their texts, because runs may have been shown them in another order, or with other distractors.
Of logs, scores and samples only what is needed is decoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Raw, Struct, field
from numpy.typing import NDArray

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.conditions import matches, parse_where
from vivant.benchmarks.summary import cluster_of
from vivant.core.errors import DataError, UsageError
from vivant.core.files import iter_jsonl
from vivant.core.types import Option, Sample
from vivant.metrics.item_statistics import Codes, Matrix
from vivant.runs.run import Run, choose_common_protocol

PEOPLE = "human"
"""The model of runs that hold people's answers."""
MOST_OPTIONS = 64


class _ScoreLine(Struct, gc=False):
    key: str
    task: str
    id: str
    status: str = "scored"
    value: float | None = None
    answer: str = ""


class _LogLine(Struct, gc=False):
    key: str
    options: Raw = Raw(b"")


class ItemRun(Struct, frozen=True, kw_only=True):
    """One run as a column."""

    name: str
    model: str
    path: Path
    control: str


class ResponseMatrix(Struct, frozen=True, kw_only=True, eq=False):
    """All answers to the items of one task. Option 0 of an item is its key; others follow as they were met."""

    task: str
    samples: list[Sample]
    runs: list[ItemRun]
    """Those without a control, then those with one."""
    values: Matrix
    codes: Codes
    """The option that each run chose; −1: none, or the task has no options."""
    option_bits: NDArray[np.uint64]
    """Bits of the options that each run was shown."""
    sizes: NDArray[np.int16]
    options: list[list[str]]
    """The texts behind the codes of each item."""
    keys: list[str]
    """The key of each item's record in a run."""
    people: list[list[int]]
    """Codes that people chose, for each item; empty where nobody was asked."""
    people_runs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def usual(self) -> NDArray[np.bool_]:
        """Which runs have no control."""
        return np.array([run.control == "none" for run in self.runs], bool)

    def clusters(self) -> list[str]:
        """What each item is not independent of."""
        return [cluster_of(sample) for sample in self.samples]


def read_responses(
    runs: Sequence[Run], protocol: Protocol | None = None, where: Sequence[str] = ()
) -> list[ResponseMatrix]:
    """A matrix for each task that the runs share.

    Raises:
        UsageError: where runs on different editions give an item different keys.
    """
    protocol = choose_common_protocol(runs, protocol)
    tasks = dict.fromkeys(task for run in runs for task in run.manifest.tasks)
    builders = {task: _Builder(task) for task in tasks}
    samples: dict[bytes, dict[tuple[str, str], Sample]] = {}
    texts: dict[bytes, dict[str, str]] = {}
    # An item has the words and the link of the first run with it: people may have been shown other options.
    for run in sorted(runs, key=lambda run: (run.model == PEOPLE, run.manifest.settings.control != "none")):
        # Runs on the same data have the same file of samples, which is read once.
        content = run.dir.samples_file.read_bytes()
        if content not in samples:
            samples[content] = {(sample.task, sample.id): sample for sample in run.dir.samples()}
        own = samples[content]
        path = _find_scores(run, protocol)
        recorded_options = {line.key: bytes(line.options) for line in iter_jsonl(run.dir.log_file, _LogLine)}
        by_task: dict[str, list[_ScoreLine]] = {}
        for line in iter_jsonl(path, _ScoreLine):
            by_task.setdefault(line.task, []).append(line)
        for task, chosen in by_task.items():
            if run.model == PEOPLE:
                builders[task].add_people(run, own, chosen, recorded_options, texts)
            else:
                builders[task].add_run(run, own, chosen, recorded_options, texts)
    matrices = [builder.build(where) for builder in builders.values() if builder.runs]
    if not matrices:
        raise UsageError("These runs hold answers of people alone; name runs of models too")
    return matrices


def _find_scores(run: Run, protocol: Protocol) -> Path:
    """The stored scores of a run, made first where they are missing or stale."""
    header = run.dir.score_header(protocol)
    path = run.score_file(protocol)
    if header is None or not path.exists():
        run.scores(protocol)
    if not path.exists():
        raise DataError(f"{run.dir.path}: its scores cannot be stored, or some task cannot be scored here")
    return path


def _read_options(raw: bytes, cache: dict[bytes, dict[str, str]]) -> dict[str, str]:
    """Names and texts of options as a record has them; the same bytes are decoded once."""
    if raw not in cache:
        options = msgspec.json.decode(raw, type=tuple[Option, ...]) if raw else ()
        cache[raw] = {option.name: option.text.strip() for option in options}
    return cache[raw]


class _Builder(Struct):
    """The matrix of one task while runs are read."""

    task: str
    samples: list[Sample] = field(default_factory=list)
    index: dict[str, int] = field(default_factory=dict)
    options: list[dict[str, int]] = field(default_factory=list)
    runs: list[ItemRun] = field(default_factory=list)
    columns: list[list[tuple[int, float, int, int, int]]] = field(default_factory=list)
    """Item, value, code, bits shown, number shown."""
    keys: list[str] = field(default_factory=list)
    people: dict[int, list[int]] = field(default_factory=dict)
    people_runs: list[str] = field(default_factory=list)
    masks: dict[tuple[int, bytes], tuple[dict[str, int], int]] = field(default_factory=dict)
    """By the sample's identity, which holds while all samples are held, and the options as a record has them."""
    otherwise: int = 0
    """Items that some run showed with other options."""
    crowded: int = 0

    def add_run(
        self,
        run: Run,
        samples: Mapping[tuple[str, str], Sample],
        scores: Sequence[_ScoreLine],
        recorded_options: Mapping[str, bytes],
        cache: dict[bytes, dict[str, str]],
    ) -> None:
        unparsed = registry.get_by_task(self.task).unparsed_value
        column: list[tuple[int, float, int, int, int]] = []
        seen: set[str] = set()
        for line in scores:
            if line.id in seen:  # a sample that was asked several times counts with its first answer
                continue
            seen.add(line.id)
            if line.status == "unparsed":
                value = unparsed
            else:
                value = line.value if line.status == "scored" else None
            sample = samples[self.task, line.id]
            item = self._item(sample, run, line.key)
            if value is None:
                continue
            names, bits = self._options(item, sample, recorded_options.get(line.key, b""), cache)
            # A right answer is the key's, also where it is another of several accepted texts.
            code = 0 if value == 1 and names else names.get(line.answer, -1)
            column.append((item, value, code, bits | (code == 0), len(names)))
        self.columns.append(column)
        settings = run.manifest.settings
        self.runs.append(ItemRun(name=run.name, model=run.model, path=run.dir.path, control=settings.control))

    def add_people(
        self,
        run: Run,
        samples: Mapping[tuple[str, str], Sample],
        scores: Sequence[_ScoreLine],
        recorded_options: Mapping[str, bytes],
        cache: dict[bytes, dict[str, str]],
    ) -> None:
        self.people_runs.append(run.name)
        for line in scores:
            sample = samples[self.task, line.id]
            item = self._item(sample, run, line.key)
            code = self._options(item, sample, recorded_options.get(line.key, b""), cache)[0].get(
                line.answer, -1
            )
            code = 0 if line.value == 1 else code
            if line.status == "scored" and code >= 0:
                self.people.setdefault(item, []).append(code)

    def _item(self, sample: Sample, run: Run, key: str) -> int:
        number = self.index.get(sample.id)
        if number is not None and self.samples[number] is sample:  # runs on the same data share their samples
            return number
        right = sample.options[sample.key].text.strip() if sample.key is not None else ""
        if number is None:
            number = self.index[sample.id] = len(self.samples)
            self.samples.append(sample)
            self.keys.append(key)
            self.options.append({right: 0} if right else {})
            return number
        first = self.samples[number]
        if sample is first or sample.key is None or self.options[number].get(right) == 0:
            return number
        if right in first.answers:  # one of several accepted answers, of which each run was shown one
            return number
        known = first.options[first.key].text.strip() if first.key is not None else ""
        raise UsageError(
            f"{run.name} is on another edition: the key of {self.task}/{sample.id} is '{right[:60]}', in the runs "
            f"before it '{known[:60]}'. Look at runs of one edition at a time"
        )

    def _options(
        self, item: int, sample: Sample, raw: bytes, cache: dict[bytes, dict[str, str]]
    ) -> tuple[dict[str, int], int]:
        """Codes of the options by the names that a run showed them under, and their bits."""
        result = self.masks.get((id(sample), raw))
        if result is None:
            right = sample.options[sample.key].text.strip() if sample.key is not None else ""
            texts = _read_options(raw, cache)
            if not texts:
                texts = {option.name: option.text.strip() for option in self.samples[item].options}
            codes = self.options[item]
            if len(codes) > 1 and not {*texts.values()} - {right} <= codes.keys():
                self.otherwise += 1
            named: dict[str, int] = {}
            for name, text in texts.items():
                if text == right and right:
                    named[name] = 0
                elif text in codes or len(codes) < MOST_OPTIONS:
                    named[name] = codes.setdefault(text, len(codes))
                else:
                    self.crowded += 1
            bits = 0
            for code in named.values():
                bits |= 1 << code
            result = self.masks[id(sample), raw] = (named, bits)
        return result

    def build(self, where: Sequence[str]) -> ResponseMatrix:
        shape = (len(self.samples), len(self.runs))
        values = np.full(shape, np.nan)
        codes, sizes = np.full(shape, -1, np.int16), np.zeros(shape, np.int16)
        option_bits = np.zeros(shape, np.uint64)
        for number, column in enumerate(self.columns):
            if not column:
                continue
            items, own, chosen, bits, count = zip(*column, strict=True)
            rows = np.array(items, np.intp)
            values[rows, number] = own
            codes[rows, number] = chosen
            option_bits[rows, number] = np.array(bits, np.uint64)
            sizes[rows, number] = count
        keep = np.arange(len(self.samples))
        if where:
            conditions = parse_where(where, self.samples)
            keep = np.array([n for n, s in enumerate(self.samples) if matches(s, conditions)], np.intp)
        notes = []
        if self.otherwise:
            notes.append(
                f"{self.task}: some runs were shown other options; options are compared by their texts."
            )
        if self.crowded:
            notes.append(
                f"{self.task}: beyond {MOST_OPTIONS} different options of an item, {self.crowded} were left out."
            )
        answered = ~np.isnan(values[keep])
        shared = answered.sum(axis=1) > 1
        alone = [
            run.name
            for run, own in zip(self.runs, answered.T, strict=True)
            if len(self.runs) > 1 and own.any() and not (own & shared).any()
        ]
        if alone:
            notes.append(
                f"{self.task}: {', '.join(alone)}: no item in common with another run, so perhaps of another edition. "
                "The figures are over the items of all."
            )
        return ResponseMatrix(
            task=self.task,
            samples=[self.samples[n] for n in keep],
            runs=self.runs,
            values=values[keep],
            codes=codes[keep],
            option_bits=option_bits[keep],
            sizes=sizes[keep],
            options=[list(self.options[n]) for n in keep],
            keys=[self.keys[n] for n in keep],
            people=[self.people.get(int(n), []) for n in keep],
            people_runs=tuple(self.people_runs),
            notes=tuple(notes),
        )
