"""Studies in several languages, live analysis, and the formats of other programs."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from tests.study.test_kinds import rewrite
from tests.study.test_new import make
from tests.support.study_kit import judged, tiny_study
from tests.support.study_web import TOKEN, Clock, Walker, build_app, open_served_store
from vivant_study import default_texts
from vivant_study.design import ItemTexts, Kind, StudyItem
from vivant_study.export import export_study
from vivant_study.loading import StudyError
from vivant_study.platforms import OUTCOMES
from vivant_study.report.power import build_power_table
from vivant_study.results import StudyResults, load_results
from vivant_study.store.people import invite

# ── languages ──


def test_items_speak_the_participants_language_alone(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", watch_whole=False)
    words = ItemTexts(question="这个人在做什么？", options=("挖", "划", "扫", "抛"))
    loaded = rewrite(loaded, lambda _, item: msgspec.structs.replace(item, translations={"zh": words}))
    with open_served_store(loaded) as store:
        app = build_app(loaded, store)
        walker = Walker(app).begin(invite(store, 1)[0], "zh-CN")
        assert "这个人在做什么？" in walker.text
        assert sorted(walker.options()) == sorted(words.options)
        assert "What is the person doing?" not in walker.text
        chosen = walker.options()[1]
        walker.next("1")
        (judgement,) = store.judgements()
        assert words.options[judgement.answer] == chosen, "the same place, whatever the language"
        english = Walker(app).begin(invite(store, 1)[0], "en")
        assert "What is the person doing?" in english.text
        assert Counter(english.options()) == Counter(loaded.items[0].options)


def test_translations_that_do_not_fit_are_faults(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s")
    short = ItemTexts(options=("a", "b"))
    with pytest.raises(StudyError, match="its options in 'zh' are 2, but it has 4"):
        rewrite(loaded, lambda _, item: msgspec.structs.replace(item, translations={"zh": short}))
    with pytest.raises(StudyError, match="texts in 'fr', which is none"):
        rewrite(
            loaded,
            lambda _, item: msgspec.structs.replace(item, translations={"fr": ItemTexts(question="?")}),
        )


def test_checks_speak_one_language(tmp_path: Path) -> None:
    for kind in ("mcq", "spans"):
        _, loaded, _ = make(tmp_path / kind, kind, "mime", data=("mini",), limit=6, checks=1)
        (check,) = [item for item in loaded.items if item.check]
        assert "checks that you are reading" in msgspec.json.encode(check.content).decode()
        assert "认真阅读" in check.translations["zh"].content[0]
        assert "认真阅读" not in msgspec.json.encode(check.content).decode()


def test_right_to_left(tmp_path: Path) -> None:
    import yaml

    loaded = tiny_study(tmp_path / "s", watch_whole=False, languages=("en",))
    english = yaml.safe_load((Path(default_texts.__file__).parent / "texts" / "en.yaml").read_text("utf-8"))
    for name in ("instructions", "consent"):
        (loaded.path / f"{name}.ar.md").write_text("نص", encoding="utf-8")
    file = loaded.path / "interface.ar.yaml"
    file.write_text(
        yaml.safe_dump({**english, "consent_title": "قبل أن تبدأ"}, allow_unicode=True), encoding="utf-8"
    )
    arabic = {"title": {"en": "A", "ar": "دراسة"}, "languages": ("en", "ar"), "questions": ()}
    loaded = rewrite(msgspec.structs.replace(loaded, texts={}), lambda _, item: item, **arabic)
    with open_served_store(loaded) as store:
        walker = Walker(build_app(loaded, store))
        walker.client.headers["accept-language"] = "ar-EG"
        walker.get(f"/join/{invite(store, 1)[0]}")
        assert '<html lang="ar" dir="rtl">' in walker.answer.text
        assert "قبل أن تبدأ" in walker.text
        walker.client.headers["accept-language"] = "en"
        walker.get("/study")
        assert '<html lang="en" dir="ltr">' in walker.answer.text


# ── analysis in place, and other programs' formats ──


def test_the_admin_page_analyses_without_the_key(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", count=12, items_per_participant=12, judgements_per_item=3)
    judged(loaded, ["a", "b", "c"], lambda name, item, *_: (int(item.id[5:]) + (name == "c")) % 4)
    (loaded.path / "key.jsonl").unlink()
    (loaded.path / "admin.fr.yaml").write_text("Analysis: Analyse", encoding="utf-8")
    with open_served_store(loaded) as store:
        walker = Walker(build_app(loaded, store))
        assert walker.get("/admin/analysis").status_code == 401
        walker.client.post("/admin/login", data={"token": TOKEN})
        walker.get("/admin/analysis")
        assert "Krippendorff" in walker.text
        assert "How many more people" in walker.text
        assert "Two people agree in 33.3 % of cases" in walker.text
        for language, title in (("zh-CN", "分析"), ("fr", "Analyse"), ("de", "Analysis")):
            walker.client.headers["accept-language"] = language
            assert f"<h1>{title}</h1>" in walker.get("/admin/analysis").text


def test_the_admin_pages_speak_chinese_throughout(tmp_path: Path) -> None:
    """Headings and buttons, how people stand, how they ended, and what happened."""
    import yaml

    folder = Path(default_texts.__file__).parent
    chinese = yaml.safe_load((folder / "texts" / "admin.zh.yaml").read_text("utf-8"))
    pages = "".join(file.read_text("utf-8") for file in (folder / "server" / "templates").glob("admin*.html"))
    words = {
        word for call in re.findall(r"\ba\(([^()]*)\)", pages) for word in re.findall(r"'([^']+)'", call)
    }
    assert len(words) > 50
    words |= {outcome.replace("_", " ") for outcome in OUTCOMES}
    assert sorted(words - set(chinese)) == []
    loaded = tiny_study(tmp_path / "s", watch_whole=False)
    with open_served_store(loaded) as store:
        app = build_app(loaded, store)
        Walker(app).begin(invite(store, 1)[0]).post("/study/withdraw")
        store.pause(True)
        admin = Walker(app)
        admin.client.headers["accept-language"] = "zh-CN"
        admin.client.post("/admin/login", data={"token": TOKEN})
        shown = re.findall(r"<td>([^<]+)</td>", admin.get("/admin").text)
        assert [word for word in shown if word in ("withdrawn", "paused", "places")] == []
        assert {"已退出", "已暂停", "名额"} <= set(shown)
        analysis = admin.get("/admin/analysis").text
        assert [word for word in re.findall(r"<h2[^>]*>([^<]+)</h2>", analysis) if word.isascii()] == []
        columns = {word for word in re.findall(r'<th scope="col">([^<]+)</th>', analysis) if word.isascii()}
        assert columns <= {"n", "·", "±", "angle", "actor"}


def test_a_question_in_another_direction_stands_by_itself(tmp_path: Path) -> None:
    """A question without a translation keeps its question mark at its end on a right-to-left page."""
    loaded = tiny_study(tmp_path / "s", watch_whole=False)
    with open_served_store(loaded) as store:
        walker = Walker(build_app(loaded, store)).begin(invite(store, 1)[0])
        assert "<legend><bdi>What is the person doing?</bdi></legend>" in walker.answer.text


def test_how_many_more_people(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", count=40, items_per_participant=20)
    people = [f"p{n}" for n in range(12)]

    def answer(name: str, item: StudyItem, *_: str) -> int:
        number = int(item.id[5:])
        return (number + ((number * 7 + int(name[1:])) % 3 == 0)) % 4

    judged(loaded, people, answer)
    table = build_power_table(load_results(loaded.path))
    measure, _, _, half, count, wanted, more = table.body[0]
    assert (count, wanted) == (12, 3.0)
    assert isinstance(half, float) and isinstance(more, int)
    assert more == max(0, math.ceil(12 * ((half / 3) ** 2 - 1)))
    assert "Right choices" in str(measure)


def test_how_many_more_people_without_the_key(tmp_path: Path) -> None:
    """Nobody is right or wrong then: what is measured is how many of the others say the same."""
    loaded = tiny_study(tmp_path / "s", count=40, items_per_participant=20)
    people = [f"p{n}" for n in range(4)]
    judged(loaded, people, lambda name, *_: 0 if name == "p3" else 1)
    results = load_results(loaded.path)
    keyless = StudyResults(results.loaded, {}, results.people, results.judgements)
    (line,) = build_power_table(keyless).body
    # Three agree with two of the three others, one with nobody.
    assert line[:2] == ("Same as others (Option), %", "all")
    assert line[2] == pytest.approx(50.0)
    assert (line[4], line[5]) == (4, 3.0)
    assert isinstance(line[6], int) and line[6] > 0
    judged_alone = StudyResults(results.loaded, {}, results.people, results.judgements[:1])
    assert build_power_table(judged_alone).body == ()


@pytest.mark.parametrize(
    "kind", ["mcq", "free-then-mcq", "blind-comments", "pairwise", "best-worst", "spans"]
)
def test_other_programs_formats(tmp_path: Path, kind: Kind) -> None:
    answers: dict[str, Any] = {
        "choose": 2, "free": "rowing", "comments": {"verdict": "ai", "realism": 3}, "pair": "tie",
        "best-worst": {"best": 3, "worst": 0}, "spans": [[0.5, 1.0]],
    }  # fmt: skip
    loaded = tiny_study(tmp_path / "s", kind)
    judged(loaded, ["x", "y"], lambda _, __, page, ___: answers[page])
    export_study(load_results(loaded.path), tmp_path / "out", ("label-studio", "jspsych"))
    tasks = msgspec.json.decode((tmp_path / "out" / "label-studio" / "tasks.json").read_bytes())
    config = ElementTree.parse(tmp_path / "out" / "label-studio" / "config.xml").getroot()
    controls = {element.get("name"): element for element in config.iter() if element.get("toName")}
    objects = {element.get("name"): element for element in config if not element.get("toName")}
    assert len(tasks) == 6
    for task in tasks:
        assert len(task["annotations"]) == 2
        for element in objects.values():
            assert element.get("value", "").removeprefix("$") in task["data"]
        for annotation in task["annotations"]:
            assert annotation["result"]
            for result in annotation["result"]:
                control = controls[result["from_name"]]
                assert control.get("toName") == result["to_name"]
                assert result["to_name"] in objects
                assert control.tag.lower() == result["type"]
    trials = msgspec.json.decode((tmp_path / "out" / "jspsych.json").read_bytes())
    assert {trial["subject"] for trial in trials} == {"x", "y"}
    assert [trial["trial_index"] for trial in trials if trial["subject"] == "x"] == list(
        range(len(trials) // 2)
    )
    assert all(trial["rt"] == 10_000 and trial["response"] is not None for trial in trials)
    attention = {"watched", "started", "ended", "played", "plays", "away", "leaves"}
    assert all(attention <= set(trial) for trial in trials)
    assert all(attention <= set(annotation["meta"]) for task in tasks for annotation in task["annotations"])
    if kind == "mcq":
        assert all(trial["shown"][trial["response"]] == 2 for trial in trials)


def test_jspsych_counts_time_from_the_first_trial(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", "free-then-mcq", count=3, watch_whole=False)
    clock = Clock()
    with open_served_store(loaded, clock=clock) as store:
        walker = Walker(build_app(loaded, store)).begin(invite(store, 1)[0])
        for seconds in (30, 5, 2, 9, 1, 4):
            clock.now += seconds
            walker.next()
    export_study(load_results(loaded.path), tmp_path / "out", ("jspsych",))
    trials = msgspec.json.decode((tmp_path / "out" / "jspsych.json").read_bytes())
    assert [trial["rt"] for trial in trials] == [30_000, 5_000, 2_000, 9_000, 1_000, 4_000]
    assert [trial["time_elapsed"] for trial in trials] == [30_000, 35_000, 37_000, 46_000, 47_000, 51_000]
