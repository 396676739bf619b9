"""The described benchmarks of the package on small data in the published layouts: read, asked, scored."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import av
import numpy
import PIL.Image
import pytest

from tests.support.suite_kit import WRITERS, write_suite
from vivant import api
from vivant.benchmarks import registry
from vivant.benchmarks.base import PromptContext, ScoreSettings
from vivant.benchmarks.declarative.benchmark import Declarative
from vivant.benchmarks.plugin_files import list_suite
from vivant.benchmarks.sources import find
from vivant.core.errors import DataError
from vivant.core.records import Record, Score
from vivant.core.types import Control, Image, Reply, Sample, Text, Video, job_key
from vivant.engine.data_check import check_data
from vivant.engine.evaluation import evaluate
from vivant.media.archives import unpack_all
from vivant.runs.reply_scoring import score_answers

NAMES = sorted(WRITERS)
SHOWS = """
class Shows:
    async def generate(self, request):
        seen = []
        for part in request.turns[0].parts:
            text = getattr(part, "text", None)
            time = getattr(part, "time", None)
            seen.append(text.replace("\\n", " / ") if text else "frames" if time is None else f"{time:.1f}")
        return " | ".join(seen)
"""


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Every benchmark's data, archives unpacked."""
    folder = tmp_path_factory.mktemp("suite")
    found = {}
    for name in NAMES:
        found[name] = write_suite(name, folder / name)
        unpack_all(found[name], get(name).file.whole.source.archives)
    yield found


def get(name: str) -> Declarative:
    benchmark = registry.get(name)
    assert isinstance(benchmark, Declarative)
    return benchmark


def load(name: str, roots: dict[str, Path], task: str = "all") -> list[Sample]:
    return get(name).load(roots[name], f"{name}/{task}")


def score(name: str, sample: Sample, reply: str, rule: str, protocol: str = "paper") -> Score:
    benchmark = get(name)
    prompt = benchmark.prompt(sample, PromptContext(style="zero-shot", pool=[sample]))
    record = Record(
        key=job_key(sample.task, sample.id),
        task=sample.task,
        id=sample.id,
        options=prompt.options,
        order=prompt.order,
        reply=Reply(text=reply),
    )
    values = {**benchmark.settings, "rule": rule, "circular": False}
    settings = ScoreSettings(protocol=protocol, values=values)  # type: ignore[arg-type]
    return benchmark.score([(sample, record)], settings)[0]


def test_sixteen_benchmarks_are_described_and_listed() -> None:
    assert sorted(list_suite()) == NAMES
    assert len(NAMES) == 17  # MVBench in two layouts
    assert set(NAMES) <= set(registry.list_benchmarks())
    assert next(iter(registry.list_benchmarks())) == "mime"


@pytest.mark.parametrize("name", NAMES)
def test_each_states_source_rule_and_what_is_unverified(name: str) -> None:
    whole = get(name).file.whole
    assert whole.source.hub.count("/") == 1
    assert whole.follows
    assert "lmms-eval" in whole.follows
    assert any("live hub" in line for line in whole.unverified)
    assert find(name).repos[0].id == whole.source.hub
    harnesses = {rule.partition("/")[0] for spec in get(name).file.tasks.values() for rule in spec.rules}
    assert harnesses
    assert harnesses <= {"lmms-eval", "vlmevalkit", "mmmu"}


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_is_asked_and_scored(
    name: str, roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    selector = {
        "mvbench": "mvbench/action_count",
        "mvbench-main": "mvbench-main/action_sequence",
        "tempcompass": "tempcompass/multi-choice",
    }.get(name, name)
    run = evaluate(selector, "random", data=(str(roots[name]),), frames=2, out=str(tmp_path / "run"))
    table = run.table()
    assert sum(row.n for row in table.rows) >= 2
    assert not any(row.errors for row in table.rows)
    assert run.manifest.settings.style == "zero-shot"
    # Figures of one task stand beside it; means over tasks stand in the layout of the harness's average.
    figures = get(name).published.rows()
    layout = None if any(figure.task in run.manifest.tasks for figure in figures) else f"{name}:official"
    beside = api.table([run], published=True, layout=layout)
    shown = {(row.model, row.value): row.metric for row in beside.rows if row.source != "measured"}
    assert any(figures[0].source in note for note in beside.notes)
    for figure in figures:
        if layout or figure.task in run.manifest.tasks:
            assert shown[figure.model, figure.value] == table.rows[0].metric


@pytest.mark.parametrize("name", NAMES)
def test_each_fits_in_forty_lines_and_names_the_source_of_its_published_rows(name: str) -> None:
    file = get(name).file
    assert len(file.path.read_text().splitlines()) <= 40
    assert file.whole.published
    for row in file.whole.published:
        assert row.source.count("/") >= 1
        assert row.style in get(name).styles
        assert all(20 < value < 100 for value in row.values.values())


def test_archives_are_unpacked_by_the_data_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_suite("videomme", tmp_path / "videomme")
    with pytest.raises(Exception, match=r"data/vid_0.mp4 is missing .* Unpack videos_chunked_01.zip"):
        get("videomme").load(root, "videomme/all")
    monkeypatch.setenv("VIVANT_DATA", str(tmp_path))
    report = check_data("videomme", None)
    assert not report.problems
    assert any("3 samples where the published edition has 2,700" in line for line in report.warnings)
    assert len(get("videomme").load(root, "videomme/all")) == 3


def test_videomme_strips_letters_and_finds_other_endings(roots: dict[str, Path]) -> None:
    samples = load("videomme", roots)
    assert [option.text for option in samples[0].options] == ["1.", "2.", "3.", "4."]
    assert [sample.key for sample in samples] == [0, 1, 2]
    assert samples[2].question[0] == Video("data/vid_2.MP4")
    assert samples[0].facets["duration"] == "short"
    assert samples[0].cluster == "vid_0"


def test_mvbench_reads_parts_of_videos_and_folders_of_pictures(roots: dict[str, Path]) -> None:
    clip = load("mvbench-main", roots, "action_sequence")[0]
    assert clip.question[0] == Video("video/data0613/star/Charades_v1_480/V0.mp4", 0.5, 1.5)
    (episode,) = load("mvbench-main", roots, "episodic_reasoning")
    video = episode.question[0]
    assert isinstance(video, Video)
    assert (video.start, video.end) == (1.0, 2.0)
    assert load("mvbench-main", roots, "episodic_reasoning") == [episode]  # the file is written once
    with av.open(str(roots["mvbench-main"] / video.path)) as container:
        frames = [
            (round((frame.time or 0.0) * 3), frame.to_ndarray(format="rgb24"))
            for frame in container.decode(video=0)
        ]
    folder = roots["mvbench-main"] / "video/tvqa/frames_fps3_hq/castle_s01e01_seg02_clip_00"
    assert [number for number, _ in frames] == list(range(9))
    for (_, pixels), file in zip(frames, sorted(folder.iterdir()), strict=True):
        assert abs(pixels.astype(int) - numpy.asarray(PIL.Image.open(file)).astype(int)).max() <= 2
    with pytest.raises(
        DataError, match=r"nturgbd/S001C001.avi is missing .* vivant data get mvbench-main, or leave such"
    ):
        load("mvbench-main", roots, "fine_grained_pose")


@pytest.mark.parametrize(
    ("name", "control", "seen"),
    [
        # Four frames of 20 at 30 a second; LongVideoBench's clock starts at 1 s.
        ("videomme", "none", "frames | Subtitles of the video: / first words / later words /  / How many"),
        ("videomme", "blind", "Subtitles of the video: / first words / later words /  / How many"),
        ("longvideobench", "none", "0.0 | 0.2 | first words /  | 0.4 | 0.6 | later words / What"),
        (
            "longvideobench",
            "reversed",
            "frames | Subtitles of the video: / first words / later words /  / What",
        ),
    ],
)
def test_subtitles_are_sent_as_the_harnesses_send_them(
    name: str,
    control: Control,
    seen: str,
    roots: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    model = tmp_path / "shows.py"
    model.write_text(SHOWS)
    run = evaluate(
        *(name, f"{model}:Shows"), data=(str(roots[name]),), style="subtitles", control=control, frames=4,
        out=str(tmp_path / "run"),
    )  # fmt: skip
    replies = {record.id: record.reply.text for record in run.records().values()}
    first, *_, last = load(name, roots)
    assert replies[first.id].startswith(seen)
    assert "(This video has no subtitles.)" in replies[last.id]
    plain = get(name).prompt(first, PromptContext(style="zero-shot", root=roots[name]))
    assert "first words" not in str(plain.messages)


def test_longvideobench_reads_both_layouts(roots: dict[str, Path], tmp_path: Path) -> None:
    samples = load("longvideobench", roots)
    assert [len(sample.options) for sample in samples] == [3, 4, 3]
    copy = shutil.copytree(roots["longvideobench"], tmp_path / "copy")
    (copy / "lvb_val.json").unlink()
    assert get("longvideobench").load(copy, "longvideobench/all") == samples


def test_mmmu_puts_pictures_at_their_marks(roots: dict[str, Path]) -> None:
    samples = {sample.id: sample for sample in load("mmmu", roots)}
    marked = samples["validation_Basic_Medical_Science_2"]
    parts = get("mmmu").prompt(marked, PromptContext(style="zero-shot")).messages[0].parts
    kinds = [type(part) for part in parts]
    assert kinds == [Text, Image, Text, Image, Text, Image, Text, Image, Text]
    assert parts[1] != parts[3]
    assert marked.facets["subject"] == "Basic_Medical_Science"
    assert samples["validation_Accounting_3"].answers == ("8.3",)


def test_mmmu_open_items_differ_by_rule(roots: dict[str, Path]) -> None:
    item = next(sample for sample in load("mmmu", roots) if not sample.options)
    values = {rule: score("mmmu", item, "8.3", rule).value for rule in ("mmmu", "lmms-eval", "vlmevalkit")}
    assert values == {"mmmu": 1.0, "lmms-eval": 0.0, "vlmevalkit": 1.0}


def test_muirbench_marks_are_spread_over_question_and_options(roots: dict[str, Path]) -> None:
    first, second, _ = load("muirbench", roots)
    parts = get("muirbench").prompt(second, PromptContext(style="zero-shot")).messages[0].parts
    assert [type(part) for part in parts] == [Text, Image, Text, Image, Text, Image, Text]
    assert sum(isinstance(part, Image) for part in first.question) == 2


def test_options_inside_the_question_are_read(roots: dict[str, Path]) -> None:
    mmstar = load("mmstar", roots)[0]
    assert [option.text for option in mmstar.options] == ["a red barn", "a pond", "two trees", "none"]
    mlvu = load("mlvu", roots, "dev")[1]
    assert [option.text for option in mlvu.options] == ["It rains.", "It snows.", "Nothing", "A fire"]
    choice, number, word = load("realworldqa", roots)
    assert [option.text for option in choice.options] == ["Left lane", "Right lane", "None"]
    assert (choice.key, number.answers, word.answers) == (1, ("3",), ("Downhill",))
    prompt = get("mmstar").prompt(mmstar, PromptContext(style="zero-shot"))
    assert str(prompt.messages).count("a red barn") == 1
    assert score("realworldqa", word, "downhill.", "lmms-eval").value == 1.0


def test_keys_as_published_become_indices(roots: dict[str, Path]) -> None:
    assert [sample.key for sample in load("egoschema", roots)] == [0, 1, 2]
    assert [sample.key for sample in load("ai2d", roots)] == [0, 1, 2]
    assert [sample.key for sample in load("blink", roots, "Counting")] == [0, 1, 0]
    assert [sample.key for sample in load("mvbench", roots, "scene_transition")] == [0, 1, 2]
    assert [sample.key for sample in load("mlvu", roots, "json")] == [1, 1, 1]
    assert [sample.key for sample in load("tempcompass", roots, "multi-choice")] == [0, 1, 2]
    assert [sample.key for sample in load("mathvista", roots)] == [2, None, None, None]


def test_egoschema_rules_see_the_options_as_the_data_write_them(roots: dict[str, Path]) -> None:
    sample = load("egoschema", roots)[1]
    reply = "i think that the person c is washing. all day"
    assert score("egoschema", sample, reply, "lmms-eval").guessed  # "b. c is washing." is not in the reply
    assert score("egoschema", sample, reply, "lmms-eval", "strict").value == 1.0


def test_mathvista_precision_as_a_float_makes_the_harness_fail(roots: dict[str, Path]) -> None:
    samples = load("mathvista", roots)
    assert score("mathvista", samples[1], "12", "lmms-eval").value == 1.0
    assert score("mathvista", samples[2], "1.2", "lmms-eval").value == 0.0
    assert score("mathvista", samples[2], "1.2", "vlmevalkit").value == 1.0
    assert score("mathvista", samples[2], "So it is 1.2.", "lmms-eval", "strict").value == 1.0


def test_copies_of_mmbench_count_as_one(roots: dict[str, Path]) -> None:
    benchmark = get("mmbench")
    samples = load("mmbench", roots)
    assert [sample.id for sample in samples] == ["0", "1000000", "2000000", "7", "1000007"]
    assert str(samples[3].question[-1]).count("It is an animal.") == 1
    items = []
    for sample in samples:
        reply = "ABCD"[sample.key or 0] if sample.id != "1000007" else "neither"
        key = job_key(sample.task, sample.id)
        record = Record(
            key=key, task=sample.task, id=sample.id, options=sample.options, reply=Reply(text=reply)
        )
        items.append((sample, record))
    for rule in ("lmms-eval", "vlmevalkit"):
        values = {"rule": rule, "circular": True}
        scores = benchmark.score(items, ScoreSettings(protocol="paper", values=values))
        assert [s.value for s in scores] == [1.0, None, None, 0.0, None]
        assert [s.status for s in scores] == ["scored", "excluded", "excluded", "scored", "excluded"]
    vanilla = benchmark.score(items, ScoreSettings(values={"rule": "lmms-eval", "circular": False}))
    assert [s.value for s in vanilla][:4] == [1.0] * 4
    assert benchmark.chance(samples[0]) == pytest.approx(1 / 27)


@pytest.mark.parametrize(
    ("reply", "status", "value"),
    [
        (Reply(status="error", error="time-out"), "missing", None),
        (Reply(status="truncated", text="I think that"), "scored", 0.0),
        (Reply(status="truncated", thinking="Let me see"), "truncated", None),
    ],
)
def test_a_copy_that_cannot_be_read_counts_for_its_question(
    roots: dict[str, Path], reply: Reply, status: str, value: float | None
) -> None:
    pairs = []
    for s in load("mmbench", roots):
        answer = reply if s.id == "1000000" else Reply(text="ABCD"[s.key or 0])
        record = Record(key=job_key(s.task, s.id), task=s.task, id=s.id, options=s.options, reply=answer)
        pairs.append((s, record))
    settings = ScoreSettings(protocol="strict", values={"rule": "lmms-eval", "circular": True})
    scores = score_answers(get("mmbench"), pairs, settings)
    assert [s.status for s in scores] == [status, "excluded", "excluded", "scored", "excluded"]
    assert [s.value for s in scores] == [value, None, None, 1.0, None]


def test_groups_weigh_the_same_in_the_official_table(
    roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    model = tmp_path / "first.py"
    model.write_text("class First:\n    async def generate(self, request):\n        return 'A'\n")
    run = evaluate("mmstar", f"{model}:First", data=(str(roots["mmstar"]),), out=str(tmp_path / "run"))
    built = api.table([run], layout="mmstar:official")
    assert [(row[1], row[2], row[3]) for row in built.body if row[1] != "mean, published"] == [
        ("image emotion", 2, 50.0),
        ("image scene and topic", 1, 0.0),
        ("mean over 2 groups", 3, 25.0),
        ("mean over questions", 3, pytest.approx(100 / 3)),
    ]


def test_captioning_is_judged_with_the_right_option(roots: dict[str, Path]) -> None:
    from vivant.benchmarks.rubric import JudgeContext, JudgeQuestion

    benchmark = get("tempcompass")
    sample = load("tempcompass", roots, "captioning")[0]
    assert benchmark.task(sample.task).judged
    record = Record(key="k", task=sample.task, id=sample.id, reply=Reply(text="He runs."))
    asked = benchmark.judged.ask(sample, record, JudgeContext())
    assert isinstance(asked, JudgeQuestion)
    assert "A. running" in str(asked.messages())
    assert (
        benchmark.judged.value(
            benchmark.judged.read("### Feedback\nyes\n### Score\n1", asked.rubric, "strict"), asked.rubric
        )
        == 1.0
    )
