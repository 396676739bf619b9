"""Content filters as rules in data."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from vivant.core.errors import DataError
from vivant.core.yaml_files import read_yaml

Where = Literal["comment", "title", "description", "tag"]


class ContentRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule of a file."""

    name: str
    fields: tuple[Where, ...]
    pattern: str


def read_rules(path: Path | None) -> tuple[ContentRule, ...]:
    """The rules of a file, or the bundled ones, each tried once."""
    file = path or Path(__file__).with_name("rules.yaml")
    rules = read_yaml(file, tuple[ContentRule, ...], empty=())
    for rule in rules:
        try:
            _matches(pa.array([""]), rule.pattern)
        except pa.ArrowInvalid as error:
            raise DataError(f"{file}: the pattern of '{rule.name}' is not RE2: {str(error)[:150]}") from error
    return rules


def match_rules(column: Any, rules: tuple[ContentRule, ...], field: Where) -> NDArray[np.int64]:
    """For each text the number of the first rule that it breaks, from 1; 0 for none."""
    numbers = np.zeros(len(column), np.int64)
    applicable = [(number, rule) for number, rule in enumerate(rules, 1) if field in rule.fields]
    if not applicable or not len(column):
        return numbers
    # One look for all: texts that break a rule are few.
    suspect = np.flatnonzero(_matches(column, "|".join(f"(?:{rule.pattern})" for _, rule in applicable)))
    if len(suspect):
        texts = column.take(pa.array(suspect))
        for number, rule in reversed(applicable):
            numbers[suspect[_matches(texts, rule.pattern)]] = number
    return numbers


def _matches(column: Any, pattern: str) -> NDArray[np.bool_]:
    matched = pc.fill_null(pc.match_substring_regex(column, pattern, ignore_case=True), False)
    return np.asarray(matched.to_numpy(zero_copy_only=False), bool)
