"""Prompt texts that a user may replace: which names there are, and which placeholders each may hold.

A benchmark declares its names in `prompt_texts`; `--prompts FILE` is checked against them before anything is sent.
A file of official wording (`vivant recipes wording`) may hold several texts for one name, as `NAME@VARIANT`; a
recipe chooses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from vivant.core.errors import UsageError, unknown_name_error

if TYPE_CHECKING:
    from vivant.benchmarks.base import Benchmark

SOURCE = "source"
"""The entry of a file of prompts that says where its texts come from. It is no prompt."""
JUDGE = "judge."
"""Names of judges' texts begin so."""
VARIANT = "@"
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


class PromptText(Struct, frozen=True, kw_only=True):
    """What a replaceable text may hold."""

    placeholders: tuple[str, ...] = ()
    """Names that stand in braces and are filled in."""
    needs: tuple[tuple[str, ...], ...] = ()
    """The text must hold all placeholders of at least one of these groups."""

    def check(self, name: str, text: str) -> None:
        """Raise where the text holds an unknown placeholder or lacks one."""
        present = find_placeholders(text)
        for placeholder in present:
            if placeholder not in self.placeholders:
                known = ", ".join(f"{{{known}}}" for known in self.placeholders) or "none"
                raise UsageError(
                    f"The prompt '{name}' holds the unknown placeholder {{{placeholder}}}; it may hold: {known}"
                )
        if self.needs and not any(set(group) <= set(present) for group in self.needs):
            wanted = " or ".join(" and ".join(f"{{{one}}}" for one in group) for group in self.needs)
            raise UsageError(f"The prompt '{name}' must hold {wanted}")


def find_placeholders(text: str) -> list[str]:
    """Names in braces, in their order."""
    return list(dict.fromkeys(PLACEHOLDER.findall(text)))


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its placeholders filled in one pass: braces in what is filled in are never placeholders."""
    return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)


def check_prompts(benchmarks: Iterable[Benchmark], texts: Mapping[str, str]) -> None:
    """Raise where a text has a name that none of the benchmarks knows, or a placeholder that is not filled in.

    A benchmark that declares no names (a plug-in) may know any.
    """
    chosen = list(benchmarks)
    known: dict[str, list[PromptText]] = {}
    for benchmark in chosen:
        for name, text in (benchmark.prompt_texts or {}).items():
            known.setdefault(name, []).append(text)
    judged = {name for benchmark in chosen for name in judge_names(benchmark)}
    lenient = any(benchmark.prompt_texts is None for benchmark in chosen)
    for name, template in texts.items():
        if name == SOURCE or name in judged:
            continue
        if name in known:
            for text in known[name]:
                text.check(name, template)
        elif not lenient:
            owners = ", ".join(benchmark.name for benchmark in chosen)
            raise unknown_name_error(f"prompt of {owners}", name, [*known, *judged])


def judge_names(benchmark: Benchmark) -> Iterable[str]:
    """The names of the texts that `--judge-prompts` replaces."""
    rubrics = {r.name: r for protocol in benchmark.protocols for r in benchmark.judged.rubrics(protocol)}
    return [name for rubric in rubrics.values() for name in rubric.text_names]


def check_judge_prompts(benchmarks: Iterable[Benchmark], texts: Mapping[str, str]) -> None:
    """The same for the texts of judges; prompts for models in the same file are left alone."""
    chosen = list(benchmarks)
    rubrics = {
        rubric.name: rubric
        for benchmark in chosen
        for protocol in benchmark.protocols
        for rubric in benchmark.judged.rubrics(protocol)
    }
    known = {name: rubric for rubric in rubrics.values() for name in rubric.text_names}
    prompts = {name for benchmark in chosen for name in benchmark.prompt_texts or ()}
    for name, text in texts.items():
        if name in known:
            known[name].check_text(name, text)
        elif name != SOURCE and name not in prompts:
            raise unknown_name_error("text of a judge", name, [*known, *prompts])
