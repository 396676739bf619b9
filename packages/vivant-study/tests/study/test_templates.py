"""Published experiments as studies: their design and their fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.study.test_export import PARITY, PUBLISHED, lines
from tests.support.study_kit import judged
from tests.support.study_web import Walker, build_app, open_served_store
from vivant_study.check import check_study
from vivant_study.export import export_study
from vivant_study.loading import LoadedStudy, load_study
from vivant_study.make import StudySpec, make_study
from vivant_study.make.templates import TEMPLATES
from vivant_study.mime_import import import_mime
from vivant_study.results import load_results
from vivant_study.store.people import invite


def make_template(folder: Path, name: str, **more: Any) -> tuple[Any, LoadedStudy]:
    design = TEMPLATES[name]
    spec = StudySpec(
        kind=design.kind, origin=(design.origin,), data=("mini",), where=design.where, template=name,
        items_per_participant=design.items_per_participant, judgements_per_item=design.judgements_per_item, **more,
    )  # fmt: skip
    return make_study(folder, spec), load_study(folder)


def test_the_experiment_of_mime(tmp_path: Path) -> None:
    made, loaded = make_template(tmp_path / "s", "mime")
    queues: dict[str, list[Any]] = {}
    for item in loaded.items:
        queues.setdefault(item.facets["queue_id"], []).append(item)
    assert all(len({item.group for item in items}) == len(items) for items in queues.values())
    assert made.places == 3 * len(queues), "three people a queue"
    assert {item.facets["set"] for item in loaded.items} == {"1", "2"}
    sets: dict[str, set[str]] = {}
    for item in loaded.items:
        sets.setdefault(item.group, set()).add(item.facets["set"])
    assert {"1", "2"} in sets.values(), "each variant has sets of its own"
    assert loaded.study.same_order
    with open_served_store(loaded) as store:
        walker = Walker(build_app(loaded, store))
        walker.get(f"/join/{invite(store, 1)[0]}")
        walker.post("/study/consent", agree="yes")
        with store.database.read() as connection:
            from sqlalchemy import select

            from vivant_study.store.tables import assignments

            items = list(connection.scalars(select(assignments.c.item)))
    assert len({loaded.by_id[name].facets["queue_id"] for name in items}) == 1
    assert len(items) == len(queues[loaded.by_id[items[0]].facets["queue_id"]])


def test_mimes_own_fields_are_exported(tmp_path: Path) -> None:
    _, loaded = make_template(tmp_path / "s", "mime")
    judged(loaded, ["x"], lambda _, __, page, ___: "something" if page == "free" else 1)
    export_study(load_results(loaded.path), tmp_path / "out")
    lines = (tmp_path / "out" / "mime-cropped" / "human_eval.jsonl").read_bytes().splitlines()
    line = msgspec.json.decode(lines[0])
    # The names of a line of the published file, in its order.
    assert list(line) == [
        "question_i", "sample_id", "user_answer", "user_mcq_selection", "user_is_correct", "question",
        "count_exited_page", "url_data",
    ]  # fmt: skip
    assert set(line["question"]) == {
        "sample_id", "label", "distractors", "avatar", "action", "angle", "background_config", "s3_url",
        "background_name", "mcq_label", "options", "label_idx",
    }  # fmt: skip
    assert list(line["url_data"]) == [
        "avatar", "angle", "background", "set", "annotator", "study_id", "prolific_id", "session_id", "queue_id",
    ]  # fmt: skip
    assert line["count_exited_page"] == 0
    facets = line["url_data"]
    assert facets["queue_id"] == (
        f"{facets['avatar']}_avatar-{facets['angle']}_angle-{facets['background']}_background-set{facets['set']}"
    )


def test_the_experiment_of_mmrv(tmp_path: Path) -> None:
    _, loaded = make_template(tmp_path / "s", "mmrv")
    study = loaded.study
    assert (study.time_limit, study.watch_whole, study.odd_options, study.judgements_per_item) == (
        120,
        False,
        True,
        1,
    )
    assert check_study(loaded.path).faults == ()


@pytest.mark.skipif(not PARITY.is_dir(), reason="the published judgements are not here")
def test_the_published_judgements_need_no_data_to_come_back_line_by_line(tmp_path: Path) -> None:
    import_mime(tmp_path / "s", PUBLISHED)
    export_study(load_results(tmp_path / "s"), tmp_path / "out")
    for file in PUBLISHED:
        written = lines(tmp_path / "out" / file.parent.name / file.name)
        first: dict[tuple[str, str], dict[str, Any]] = {}
        for line in lines(file):
            # A study keeps no identifiers of a platform.
            line["url_data"] |= {"study_id": "", "prolific_id": "", "session_id": ""}
            first.setdefault((line["url_data"]["annotator"], line["sample_id"]), line)
        assert len(written) == len(first)
        assert {(one["url_data"]["annotator"], one["sample_id"]): one for one in written} == first
