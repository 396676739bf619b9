"""The audit counts what masking finds in a planted set, and what published texts still hold."""

from __future__ import annotations

import pytest

from vivant_build.privacy import audit_privacy
from vivant_build.privacy.audit import is_masked


def test_planted_data_are_masked_and_clean_texts_left_alone() -> None:
    report = audit_privacy()
    assert len(report.languages) == 6 and len(report.planted) == 8
    assert {kind: share for kind, share in report.masked.items() if share < 0.99} == {}, report.examples
    assert {name: share for name, share in report.languages.items() if share < 0.99} == {}, report.examples
    assert report.touched <= 0.005, report.examples
    assert report.clean_texts > 500 and sum(report.planted.values()) > 2000


@pytest.mark.parametrize(
    ("value", "text", "after", "masked"),
    [
        ("bread_with_quillo", "IG: bread_with_quillo, mostly bread", ", mostly bread", True),
        ("bread_with_quillo", "IG: bread_with_quillo, mostly bread", "bread, mostly bread", False),
        ("48.85837, 2.29448", "at 48.85837, 2.29448", "at", True),
    ],
)
def test_words_beside_a_planted_value_do_not_count(value: str, text: str, after: str, masked: bool) -> None:
    assert is_masked(value, after, text) is masked


def test_the_audit_sees_what_settings_leave_in() -> None:
    kept = audit_privacy(links="keep")
    assert "telephone number" in kept.kept and list(kept.planted) == ["mention"]
    report = audit_privacy(["call 202-555-0143", "nothing here", "so good", "yes"])
    assert (report.texts, report.held) == (4, 0.25)
