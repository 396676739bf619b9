"""Options that only one benchmark understands are checked by name and type, and split for the run's settings."""

from __future__ import annotations

from typing import Any

import pytest

from vivant.benchmarks import registry
from vivant.core.errors import UsageError


def test_texts_become_a_run_s_variant_and_limits() -> None:
    values = {"adv": "true", "combine": "2", "max-context-len": "4096", "tokens_per_image": 576}
    parsed = registry.parse_task_options(["milebench/T-1", "mime"], values)
    assert parsed.variant == {"adv": True, "combine": 2}
    assert parsed.limits == {"max_context_len": 4096, "n_tokens_per_image": 576}


def test_defaults_leave_no_trace() -> None:
    parsed = registry.parse_task_options(["milebench"], {"adv": "no", "combine": 0})
    assert (parsed.variant, parsed.limits) == ({}, {})


@pytest.mark.parametrize(
    ("selector", "values", "message"),
    [
        ("milebench", {"ad": "1"}, "task option of milebench 'ad'; did you mean 'adv'"),
        ("milebench", {"max-context-len": "0"}, "max-context-len is a whole number, 1 or more"),
        ("mime", {"adv": "true"}, "task option of mime 'adv'; known: demonstrations, order"),
        ("./mine.jsonl", {"adv": "true"}, "task option of your own questions 'adv'"),
    ],
)
def test_wrong_options_are_refused(selector: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        registry.parse_task_options([selector], values)


def test_each_benchmark_gets_its_own() -> None:
    mime, milebench = registry.select(["mime", "milebench"], ["mini"], {"combine": 1})
    assert mime.benchmark.options == {"order": "media-first", "demonstrations": "variant"}
    assert milebench.benchmark.options == {"adv": False, "combine": 1}
