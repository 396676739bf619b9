"""Registries name their parts by dotted names, which no import checks: every name must lead to something."""

from __future__ import annotations

from importlib import import_module

import pytest

from vivant.benchmarks import registry as benchmarks
from vivant.models import registry as models


@pytest.mark.parametrize("name", sorted(models.list_backends()))
def test_every_backend_is_where_the_registry_says(name: str) -> None:
    module, _, function = models.list_backends()[name].factory.partition(":")
    assert callable(getattr(import_module(module), function))


def test_every_benchmark_is_where_the_registry_says() -> None:
    assert [benchmarks.get(name).name for name in benchmarks.list_benchmarks()] == list(
        benchmarks.list_benchmarks()
    )
