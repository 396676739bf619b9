"""How evenly each person's items are spread, and in which order people meet them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.study.test_assign import enter, work
from tests.support.study_kit import tiny_study
from tests.support.study_web import open_served_store
from vivant_study.design import Study, StudyItem
from vivant_study.store.assign import describe_balance


def test_facets_are_spread_where_everyone_gets_every_group() -> None:
    """MIME's design: 17 actions in ten variants, each person names every action once."""
    items = [
        StudyItem(id=f"{action}-{variant}", group=f"{action}", facets={"variant": f"{variant}"})
        for action in range(17)
        for variant in range(10)
    ]
    study = Study(
        kind="mcq",
        title={"en": "MIME"},
        balance=("variant",),
        items_per_participant=17,
        judgements_per_item=3,
    )
    assert describe_balance(study, items) == [
        "balance over 'variant': a participant gets 1 to 3 items of each value, 1.7 on average"
    ]


@pytest.mark.parametrize("same", [True, False])
def test_one_order_for_everybody(tmp_path: Path, same: bool) -> None:
    loaded = tiny_study(
        tmp_path / "s", count=12, items_per_participant=12, judgements_per_item=4, same_order=same
    )
    with open_served_store(loaded) as store:
        for _ in range(4):
            person, _ = enter(store, loaded)
            work(store, loaded, person)
        names = [person.annotator for person in store.people()]
        met = [[(each.item, each.shown) for each in store.judgements(name)] for name in names]
    assert all(len(items) == 12 for items in met)
    assert (len({str(items) for items in met}) == 1) is same


def test_values_of_unequal_number_are_told_one_by_one() -> None:
    """MIME's angles: seven of ten variants are seen from the front."""
    items = [
        StudyItem(
            id=f"{action}-{variant}", group=f"{action}", facets={"angle": f"{max(0, variant - 6) * 90:03d}"}
        )
        for action in range(17)
        for variant in range(10)
    ]
    study = Study(
        kind="mcq", title={"en": "MIME"}, balance=("angle",), items_per_participant=17, judgements_per_item=3
    )
    (line,) = describe_balance(study, items)
    spread = re.findall(r"(\d+) to (\d+) of '(\d+)', ([\d.]+) on average", line)
    assert [(angle, mean) for _, _, angle, mean in spread] == [
        ("000", "11.9"), ("090", "1.7"), ("180", "1.7"), ("270", "1.7"),
    ]  # fmt: skip
    assert all(int(low) >= 1 and int(high) <= 3 for low, high, angle, _ in spread if angle != "000"), line
