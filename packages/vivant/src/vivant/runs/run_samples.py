"""The samples of a run with what became of them: question, replies, scores. `run.samples` gives them."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

from vivant.core.errors import VivantError
from vivant.core.records import Record, Score
from vivant.core.types import Option, Sample, Text

if TYPE_CHECKING:
    from vivant.runs.run import Run

_SHOWN = 4_000
"""Characters of one text that a notebook shows."""


class RunSample:
    """One sample of a run, its replies and its scores: one of each, or several where it was asked several times."""

    def __init__(self, sample: Sample, records: tuple[Record, ...], owner: RunSamples) -> None:
        self.sample = sample
        self.records = records
        self._owner = owner

    @property
    def id(self) -> str:
        """The sample's id."""
        return self.sample.id

    @property
    def task(self) -> str:
        """Such as `mime/mcq`."""
        return self.sample.task

    @property
    def facets(self) -> Mapping[str, str]:
        """What the sample can be grouped by."""
        return self.sample.facets

    @property
    def question(self) -> str:
        """The question as text, with a mark in the place of each image and video."""
        return "\n".join(
            part.text if isinstance(part, Text) else f"[{type(part).__name__.lower()} {part.path}]"
            for part in self.sample.question
        )

    @property
    def reply(self) -> str:
        """What the model wrote, the first time; empty where there is no reply."""
        return self.records[0].reply.text if self.records else ""

    @property
    def scores(self) -> tuple[Score, ...]:
        """How the replies were scored under the benchmark's first protocol."""
        return self._owner.scores_of(self.sample)

    @property
    def score(self) -> Score | None:
        """The first of the scores; None where nothing could be scored."""
        return self.scores[0] if self.scores else None

    def __repr__(self) -> str:
        reply = self.reply if len(self.reply) <= 60 else self.reply[:57] + "…"
        return f"RunSample({self.task}, {self.id!r}, reply={reply!r})"

    def _repr_html_(self) -> str:
        rows = [("question", self.question)]
        rows += [("options", "\n".join(f"{option.name}  {option.text}" for option in self._options()))]
        for record in self.records:
            reply = record.reply
            rows.append(("reply" if reply.status == "ok" else reply.status, reply.text or reply.error))
        try:
            for score in self.scores:
                value = "–" if score.value is None else f"{score.value:g}"
                rows.append(("score", f"{value}  {score.status}  {score.rule}  {score.answer}".strip()))
        except VivantError as error:
            rows.append(("score", str(error)))
        body = "".join(
            f'<tr><th style="text-align:left;vertical-align:top">{html.escape(name)}</th>'
            f'<td style="text-align:left;white-space:pre-wrap">{html.escape(text[:_SHOWN])}</td></tr>'
            for name, text in rows
            if text
        )
        return f"<p><b>{html.escape(self.task)}</b> {html.escape(self.id)}</p><table>{body}</table>"

    def _options(self) -> Sequence[Option]:
        return self.records[0].options if self.records else self.sample.options


class RunSamples(Sequence[RunSample]):
    """All samples of a run, read from disk when the first one is asked for; by number, by slice or by id."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @cached_property
    def _samples(self) -> list[Sample]:
        return self._run.dir.samples()

    @cached_property
    def _records(self) -> dict[tuple[str, str], tuple[Record, ...]]:
        grouped: dict[tuple[str, str], list[Record]] = {}
        for record in self._run.records().values():
            grouped.setdefault((record.task, record.id), []).append(record)
        return {
            key: tuple(sorted(records, key=lambda record: (record.permutation, record.repeat)))
            for key, records in grouped.items()
        }

    @cached_property
    def _scores(self) -> dict[tuple[str, str], tuple[Score, ...]]:
        grouped: dict[tuple[str, str], list[Score]] = {}
        for part in self._run.scores():
            for sample, _, score in part.rows:
                grouped.setdefault((part.task, sample.id), []).append(score)
        return {key: tuple(scores) for key, scores in grouped.items()}

    @cached_property
    def _by_id(self) -> dict[str, int]:
        return {sample.id: number for number, sample in reversed(list(enumerate(self._samples)))}

    def scores_of(self, sample: Sample) -> tuple[Score, ...]:
        """The scores of one sample."""
        return self._scores.get((sample.task, sample.id), ())

    @overload
    def __getitem__(self, key: int | str) -> RunSample: ...
    @overload
    def __getitem__(self, key: slice) -> list[RunSample]: ...
    def __getitem__(self, key: int | str | slice) -> RunSample | list[RunSample]:
        if isinstance(key, slice):
            return [self._join(sample) for sample in self._samples[key]]
        if isinstance(key, str):
            if key not in self._by_id:
                raise KeyError(f"{self._run.name} has no sample with the id {key!r}")
            key = self._by_id[key]
        return self._join(self._samples[key])

    def _join(self, sample: Sample) -> RunSample:
        return RunSample(sample, self._records.get((sample.task, sample.id), ()), self)

    def __iter__(self) -> Iterator[RunSample]:
        return (self._join(sample) for sample in self._samples)

    def __len__(self) -> int:
        return sum(self._run.manifest.planned.values())

    def __repr__(self) -> str:
        return f"<{len(self)} samples of {self._run.name}: index them by number or by id>"
