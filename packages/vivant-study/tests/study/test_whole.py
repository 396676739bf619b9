"""From a benchmark to people's row in its table, through the pages that people see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.mime_kit import MIME
from tests.support.study_web import Walker, build_app, open_served_store
from vivant.benchmarks.base import ScoreSettings
from vivant.runs.run import load_run
from vivant_study.default_texts import DEFAULTS
from vivant_study.export import export_study
from vivant_study.key import load_key
from vivant_study.loading import load_study
from vivant_study.make import StudySpec, make_study
from vivant_study.report.study import build_study_report
from vivant_study.results import load_results
from vivant_study.store.people import invite
from vivant_study.writing import format_study_yaml


def test_a_study_of_mime_from_its_data_to_the_human_row(tmp_path: Path, url: str | None) -> None:
    folder = tmp_path / "s"
    wish = StudySpec(
        kind="free-then-mcq",
        origin=("mime",),
        data=("mini",),
        limit=12,
        judgements_per_item=2,
        items_per_participant=4,
        checks=1,
        balance=("angle",),
    )
    made = make_study(folder, wish)
    # Videos are watched in the browser's own tests.
    study = msgspec.structs.replace(made.study, watch_whole=False, questions=())
    (folder / "study.yaml").write_text(format_study_yaml(study), encoding="utf-8")
    loaded, key = load_study(folder), load_key(folder)
    right = {frozenset(item.options): item.options[key[item.id].option or 0] for item in loaded.items}
    store = open_served_store(loaded, url)
    app = build_app(loaded, store)
    seen: list[Any] = []
    for number in range(made.places):
        walker = Walker(app, seen=seen).begin(invite(store, 1)[0])
        while walker.page:
            if walker.names == ["text"]:
                asked = (word for word in DEFAULTS.check_options if f"“{word}”" in walker.text)
                walker.send("/study/answer", {"page": walker.page, "text": next(asked, "waving")})
                continue
            texts = walker.options()
            good = texts.index(right[frozenset(texts)])
            # The last participant is wrong throughout, checks included.
            place = good if number < made.places - 1 else (good + 1) % len(texts)
            walker.send("/study/answer", {"page": walker.page, "choice": str(place)})
    store.close()

    collected = load_results(folder, url)
    report = build_study_report(collected)
    accuracy = next(row for row in report.results.rows if row.metric == "accuracy")
    wrong = 24 - 4 * (made.places - 1)
    assert accuracy.n == 24
    assert accuracy.value == pytest.approx(100 * (24 - wrong) / 24)
    people = {line[0]: line for line in report.people.body}
    assert sorted(str(line[4]) for line in people.values()) == ["0 of 1"] + ["1 of 1"] * (made.places - 1)
    export_study(collected, tmp_path / "out")
    run = load_run(tmp_path / "out" / "run")
    samples = {sample.id: sample for sample in run.dir.samples() if sample.task == "mime/mcq"}
    chosen = [(samples[r.id], r) for r in run.records().values() if r.task == "mime/mcq"]
    scores = MIME.score(chosen, ScoreSettings(protocol="strict", style=run.manifest.style))
    assert (run.model, len(scores)) == ("human", 24)
    assert sum(score.value or 0 for score in scores) == 24 - wrong

    # Nothing that the browser got names an item, an action, a file or a facet.
    everything = b"".join(
        answer.content + str(answer.headers).encode() + str(answer.url).encode() for answer in seen
    )
    for item in loaded.items:
        sample = key[item.id].extra.get("sample")
        names = [item.id] if sample is None else [item.id, item.group, sample["extra"]["file_name"]]
        for name in [*names, *([] if sample is None else [sample["facets"]["action"]])]:
            assert name.encode() not in everything
