"""`vivant build mime try`: people and models name rendered clips, and what too few of them name is listed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import msgspec
import pytest

from tests.support.helpers import vivant
from tests.support.study_web import Walker, build_app, open_served_store
from vivant import mini
from vivant.core.errors import DataError, UsageError
from vivant_build.mime.naming import STUDY, build_naming_table, count_names, make_naming_study
from vivant_study.key import load_key
from vivant_study.loading import load_study
from vivant_study.store.people import invite
from vivant_study.writing import format_study_yaml

CLIPS = mini.root("mime") or Path("missing")
VARIANT = "base+blank@0"


def _answer(folder: Path, words: dict[str, str], people: int) -> None:
    """Let people name every clip, by its right label unless `words` has another name for it."""
    loaded, key = load_study(folder), load_key(folder)
    # Videos are watched in the browser's own tests.
    study = msgspec.structs.replace(loaded.study, watch_whole=False, questions=())
    (folder / "study.yaml").write_text(format_study_yaml(study), encoding="utf-8")
    loaded = load_study(folder)
    label = {item.options: item.options[key[item.id].option or 0] for item in loaded.items}
    clips = {
        (folder / "media" / item.content[0].file).read_bytes(): label[item.options]  # type: ignore[union-attr]
        for item in loaded.items
    }
    store = open_served_store(loaded)
    app = build_app(loaded, store)
    for _ in range(people):
        walker = Walker(app).begin(invite(store, 1)[0])
        while walker.page:
            if walker.names == ["text"]:
                # Addresses of clips tell nothing either, so this visitor looks at the video.
                address = re.findall(r'<video src="([^"]+)"', walker.text)[0]
                right = clips[walker.client.get(address).content]
                walker.send("/study/answer", {"page": walker.page, "text": words.get(right, right)})
            else:
                walker.send("/study/answer", {"page": walker.page, "choice": "0"})
    store.close()


def test_what_people_cannot_name_is_listed_with_what_it_is_taken_for(tmp_path: Path) -> None:
    new = make_naming_study(CLIPS, tmp_path, VARIANT, people=2)
    assert new is not None and new.items == 17
    assert make_naming_study(CLIPS, tmp_path, VARIANT) is None, "a study with answers is never made anew"
    assert "nobody has answered yet" in count_names(CLIPS, tmp_path).notes[0]
    # "jumping rope" is similar enough to "climbing" for free-form scoring, and nearer to another action here.
    words = {
        "playing violin": "Eating soup",
        "boxing": "punching the air",
        "climbing ladder": "jumping rope",
    }
    _answer(tmp_path / STUDY, words, people=2)
    naming = count_names(CLIPS, tmp_path)
    assert sum(entry.answers for entry in naming.actions) == 34 and not naming.notes
    climbing, violin = naming.doubtful
    assert (climbing.action, climbing.others) == ("Climbing001", ("jumping rope",))
    assert violin.action == "Violin002"
    assert (violin.named, violin.answers, violin.others) == (0, 2, ("eating soup",))
    assert violin.source == "people" and violin.share == 0.0
    table = build_naming_table(naming)
    assert [row[1] for row in table.body[:2]] == ["Climbing001", "Violin002"]
    assert [row[5] for row in table.body[:3]] == ["doubtful", "doubtful", ""]


def test_the_study_is_blind(tmp_path: Path) -> None:
    make_naming_study(CLIPS, tmp_path, VARIANT)
    served = [path for path in (tmp_path / STUDY).rglob("*") if path.is_file() and path.name != "key.jsonl"]
    text = " ".join(
        [path.name for path in served]
        + [p.read_text() for p in served if p.suffix in (".jsonl", ".yaml", ".md")]
    )
    items = (tmp_path / STUDY / "items.jsonl").read_text()
    assert items.count('"question":"What is this person miming?"') == 17, "it also heads the page of options"
    assert not any(action in text for action in ("Archery001", "Violin002", "Soccer003"))


def test_models_name_clips_through_the_usual_backends(tmp_path: Path) -> None:
    done = vivant("build", "mime", "try", str(CLIPS), "--out", "naming", "--model", "random", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "A blind study of 17 clips (base+blank@0) is in naming/study." in done.stderr
    assert "vivant study serve naming/study" in done.stderr and "Improve or drop them." in done.stderr
    assert "By random, fewer than 50% name" in done.stderr
    log = (tmp_path / "naming/models/random/log.jsonl").read_bytes()
    assert len(log.splitlines()) == 17
    again = vivant(
        *("build", "mime", "try", str(CLIPS), "--out", "naming", "--model", "random", "--least", "0"),
        cwd=tmp_path,
    )
    assert "At least 0% name each action." in again.stderr
    assert (tmp_path / "naming/models/random/log.jsonl").read_bytes() == log, (
        "what was asked is not asked again"
    )
    assert again.stdout.count("random") == 17 and "blind study of" not in again.stderr


def test_names_of_earlier_clips_are_not_counted_for_clips_rendered_anew(tmp_path: Path) -> None:
    clips, out = tmp_path / "clips", tmp_path / "names"
    shutil.copytree(CLIPS, clips)
    make_naming_study(clips, out, VARIANT)
    with pytest.raises(
        UsageError, match=r"about the clips of 'base\+blank@0', not of 'woman\+blank@0'.*--out"
    ):
        make_naming_study(clips, out, "woman+blank@0")
    waving, other = sorted(clips.glob("man_*_angle0_blank.mp4"))[:2]
    shutil.copyfile(other, waving)
    with pytest.raises(UsageError, match=rf"1 differ, the first is {waving.name}; name another folder"):
        make_naming_study(clips, out, VARIANT)
    waving.unlink()
    with pytest.raises(DataError, match=rf"{waving.name} is missing, with 0 more of 17 clips"):
        make_naming_study(clips, tmp_path / "new", VARIANT)
