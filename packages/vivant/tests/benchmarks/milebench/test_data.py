"""Reading the release: marks and pictures, facets, variants, and everything that can be wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image as Pillow

from tests.support.milebench_kit import make_item, write_dataset
from vivant.benchmarks.editions import load_editions
from vivant.benchmarks.milebench import MileBench
from vivant.benchmarks.milebench.datasets import DATASETS, GROUPS, find_level
from vivant.benchmarks.milebench.native import place_pictures
from vivant.core.errors import DataError, UsageError
from vivant.core.types import Image, Text


def list_paths(context: str, images: list[str]) -> list[str]:
    parts = place_pictures(context, images, "").parts
    return [part.path.removeprefix("images/") if isinstance(part, Image) else "" for part in parts if part]


def test_the_table_of_datasets_adds_up() -> None:
    assert len(DATASETS) == 29
    sizes = load_editions()["milebench"]["released"].tasks
    assert list(sizes) == [dataset.name for dataset in DATASETS]
    assert sum(sizes.values()) == 6440
    assert {dataset.group for dataset in DATASETS} == {group.name for group in GROUPS}
    expand = MileBench().expand
    assert len(expand("realistic")) == 26
    assert expand("diagnostic") == ("TextNeedleInAHaystack", "ImageNeedleInAHaystack", "GPR1200")
    assert expand("S-4") == ("MMCoQA", "ALFRED")
    assert expand("") == tuple(task.name for task in MileBench.tasks)


def test_an_unknown_selector_gets_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="did you mean 'realistic'"):
        MileBench().expand("realistc")
    with pytest.raises(UsageError, match="did you mean 'GPR1200'"):
        MileBench().expand("GPR120")


def test_levels_come_from_the_number_of_images() -> None:
    assert [find_level(n) for n in (0, 5, 6, 31, 32, 109)] == [
        "Few",
        "Few",
        "Medium",
        "Medium",
        "Many",
        "Many",
    ]


def test_pictures_stand_at_their_marks() -> None:
    placed = place_pictures("a {image#1}b{table#2} c", ["x.jpg", "y.jpg"], "TQA/")
    assert placed.parts == (
        Text("a "),
        Image("TQA/images/x.jpg"),
        Text("b"),
        Image("TQA/images/y.jpg"),
        Text(" c"),
    )
    assert placed.numbers == (1, 2)
    assert placed.faults == ()


def test_marks_go_by_number_also_out_of_order_and_twice() -> None:
    images = ["1.jpg", "2.jpg"]
    assert list_paths("{image#2}{image#1}{image#2}", images) == ["2.jpg", "1.jpg", "2.jpg"]


def test_marks_of_two_kinds_with_the_same_numbers_go_by_order() -> None:
    images = ["t.jpg", "1.jpg", "2.jpg"]
    assert list_paths("{table#1}{image#1}{image#2}", images) == images


def test_a_mark_without_a_picture_becomes_a_file_that_is_missing() -> None:
    placed = place_pictures("{image#1} {image#3}", ["a.jpg"], "TQA/")
    assert Image("TQA/images/{image#3}") in placed.parts
    assert placed.faults == ("mark {image#3} has no picture (there are 1)",)


def test_a_picture_without_a_mark_comes_first() -> None:
    placed = place_pictures("see {image#2}", ["a.jpg", "b.jpg"], "")
    assert [part.path for part in placed.parts if isinstance(part, Image)] == ["images/a.jpg", "images/b.jpg"]
    assert placed.numbers == (0, 2)
    assert "a.jpg has no mark" in placed.faults[0]


def test_samples_have_ids_facets_keys_and_come_with_few_pictures_first(tmp_path: Path) -> None:
    many = [f"{n}.png" for n in range(7)]
    write_dataset(
        tmp_path,
        "TQA",
        [
            make_item("7", " ".join(f"{{image#{n + 1}}}" for n in range(7)), many, "Blue.", ["red", "blue"]),
            make_item(3, "{image#1}", ["a.png"], "red", ["Red", "blue"]),
        ],
    )
    samples = MileBench().load(tmp_path, "milebench/TQA")
    assert [sample.id for sample in samples] == ["3", "7"]
    assert [sample.key for sample in samples] == [0, 1]
    assert samples[1].facets == {
        "dataset": "TQA",
        "group": "S-1",
        "realm": "realistic",
        "level": "Medium",
        "n_images": "7",
        "question_type": "multi-choice",
    }
    assert samples[0].cluster != samples[1].cluster
    assert MileBench().chance(samples[0]) == 0.5


def test_the_folder_may_be_the_dataset_itself(tmp_path: Path) -> None:
    write_dataset(tmp_path, "TQA", [make_item(0, "{image#1}", ["a.png"], "red", ["red", "blue"])])
    (sample,) = MileBench().load(tmp_path / "TQA", "milebench/TQA")
    assert Image("images/a.png") in sample.question


def test_adversarial_and_combined_files(tmp_path: Path) -> None:
    plain = make_item(0, "plain {image#1}", ["a.png"], "red", ["red", "blue"])
    adv = make_item(0, "adversarial {image#1}", ["a.png"], "red", ["red", "blue"])
    grids = make_item(
        0, "grid {image#1}", ["a.png"], "red", ["red", "blue"], instance={"combined_2_images": ["0-0.jpg"]}
    )
    write_dataset(tmp_path, "TQA", [plain])
    write_dataset(tmp_path, "TQA", [adv], file="TQA-adv.json")
    write_dataset(tmp_path, "TQA", [grids], file="TQA_combined_2.json")

    def text(benchmark: MileBench) -> str:
        part = benchmark.load(tmp_path, "milebench/TQA")[0].question[1]
        assert isinstance(part, Text)
        return part.text

    assert text(MileBench()) == "plain "
    assert text(MileBench(adv=True)) == "adversarial "
    assert text(MileBench(combine=2)) == "grid "
    assert text(MileBench(combine=3)) == "plain "
    (sample,) = MileBench(combine=2).load(tmp_path, "milebench/TQA")
    assert sample.extra["combined"] == {"2": ["TQA/combined_2_images/0-0.jpg"]}


def test_only_what_is_there_is_available(tmp_path: Path) -> None:
    write_dataset(tmp_path, "TQA", [make_item(0, "{image#1}", ["a.png"], "red", ["red", "blue"])])
    benchmark = MileBench()
    assert benchmark.data.available(benchmark, tmp_path, benchmark.expand("S-1")) == ("TQA",)
    assert benchmark.data.available(benchmark, tmp_path, ("milebench/WebQA", "milebench/TQA")) == (
        "milebench/TQA",
    )
    assert MileBench(adv=True).data.available(MileBench(adv=True), tmp_path, ("TQA",)) == ()


def test_options_are_checked() -> None:
    with pytest.raises(UsageError, match="did you mean 'combine'"):
        MileBench(combin=1)
    for bad in (-1, "two", True, 1.5):
        with pytest.raises(UsageError, match="combine is a whole number"):
            MileBench(combine=bad)
    with pytest.raises(UsageError, match="adv is true or false"):
        MileBench(adv="perhaps")
    assert (MileBench(combine="2", adv="true").combine, MileBench(adv="no").adv) == (2, False)


def test_depth_of_needles_from_the_file_from_the_text_and_from_the_order(tmp_path: Path) -> None:
    stated = [make_item(0, "{image#1}", ["a.png"], "x", needle={"depth": 4, "length": 12})]
    write_dataset(tmp_path / "1", "ImageNeedleInAHaystack", stated)
    (sample,) = MileBench().load(tmp_path / "1", "milebench/ImageNeedleInAHaystack")
    assert (sample.facets["depth"], sample.facets["length"], sample.facets["depth_from"]) == (
        "4",
        "12",
        "file",
    )

    text = "hay " * 500 + "the key is Zanzibar " + "hay " * 500
    write_dataset(tmp_path / "2", "TextNeedleInAHaystack", [make_item(0, text, [], "zanzibar")])
    (sample,) = MileBench().load(tmp_path / "2", "milebench/TextNeedleInAHaystack")
    assert (sample.facets["depth"], sample.facets["depth_from"]) == ("5", "text")
    assert sample.facets["length"] == "1000"

    grid = [
        make_item(10 * length + depth, "", [f"{n}.png" for n in range(length)], "x")
        for length in (2, 4)
        for depth in range(10)
    ]
    write_dataset(tmp_path / "3", "ImageNeedleInAHaystack", grid)
    samples = MileBench().load(tmp_path / "3", "milebench/ImageNeedleInAHaystack")
    assert {(s.id, s.facets["depth"]) for s in samples} == {(s.id, s.id[-1]) for s in samples}
    assert samples[0].facets["depth_from"] == "order"

    write_dataset(tmp_path / "4", "ImageNeedleInAHaystack", grid[:-1])
    samples = MileBench().load(tmp_path / "4", "milebench/ImageNeedleInAHaystack")
    assert not any("depth" in sample.facets for sample in samples)


def test_place_of_evidence(tmp_path: Path) -> None:
    names = [f"{n}.png" for n in range(11)]
    context = " ".join(f"{{image#{n + 1}}}" for n in range(11))
    write_dataset(
        tmp_path,
        "GPR1200",
        [
            make_item(0, context, names, "Image 1", ["Image 1", "Image 11"]),
            make_item(1, context, names, "Image 11", ["Image 1", "Image 11"]),
            make_item(2, context, names, "a cup", ["a cup", "a jar"], evidence=[5, 7]),
            make_item(3, context, names, "a cup", ["a cup", "a jar"]),
        ],
    )
    samples = {sample.id: sample for sample in MileBench().load(tmp_path, "milebench/GPR1200")}
    assert [samples[i].facets.get("position") for i in "0123"] == ["1", "5", "3", None]


# ── what is wrong ──


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is no MileBench annotation"),
        ("<html>", "is no MileBench annotation"),
        ('{"meta_data": {"question_type": "open-ended"}, "data": []}', "task_instruction"),
        ('{"meta_data": {"task_instruction": ["x"], "question_type": "essay"}, "data": []}', "question_type"),
        (
            '{"meta_data": {"task_instruction": ["x"], "question_type": "open-ended"}, "data": []}',
            "no samples",
        ),
        ("\xff\xfe", "TQA.json"),
    ],
)
def test_a_broken_file_is_one_clear_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "TQA").mkdir()
    (tmp_path / "TQA" / "TQA.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(DataError, match=message) as caught:
        MileBench().load(tmp_path, "milebench/TQA")
    assert "TQA.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_datasets_file_is_refused_by_name(tmp_path: Path) -> None:
    entry = make_item(0, "{image#1}", ["a.png"], "red", ["red", "blue"])
    write_dataset(tmp_path, "TQA", [entry], dataset="action_localization")
    with pytest.raises(DataError, match="holds the dataset ActionLocalization, not TQA"):
        MileBench().load(tmp_path, "milebench/TQA")
    write_dataset(tmp_path, "WebQA", [entry], file="DocVQA.json")
    with pytest.raises(DataError, match=r"holds DocVQA.json of another dataset, but no WebQA.json"):
        MileBench().load(tmp_path, "milebench/WebQA")
    with pytest.raises(DataError, match=r"has no dataset GPR1200; it has TQA$"):
        MileBench().load(tmp_path, "milebench/GPR1200")


def test_an_id_that_stands_twice_is_named(tmp_path: Path) -> None:
    entry = make_item(7, "{image#1}", ["a.png"], "red", ["red", "blue"])
    write_dataset(tmp_path, "TQA", [entry, {**entry, "sample_id": "7"}])
    with pytest.raises(DataError, match="sample_id 7 is repeated; ids must be unique"):
        MileBench().load(tmp_path, "milebench/TQA")


def test_an_instruction_that_is_not_there_is_named(tmp_path: Path) -> None:
    write_dataset(tmp_path, "TQA", [make_item(5, "x", [], "red", ["red"], task_instruction_id=3)])
    with pytest.raises(DataError, match="sample 5: task_instruction_id is 3, but there are 1"):
        MileBench().load(tmp_path, "milebench/TQA")


def test_check_lists_everything_at_once(tmp_path: Path) -> None:
    write_dataset(
        tmp_path,
        "TQA",
        [
            make_item(0, "{image#1} {image#4}", ["a.png"], "red", ["red", "blue"]),
            make_item(1, "{image#1}", ["gone.png"], "red", ["red", "blue"]),
            make_item(2, "no mark", ["a.png"], "red", ["red", "blue"]),
            make_item(3, "{image#1}", ["a.png"], "green", ["red", "blue"]),
            make_item(3, "{image#1}", ["a.png"], "red", ["red", "blue"]),
            make_item(4, "{image#1}", ["../../../etc/passwd"], "red", ["red", "blue"]),
        ],
        pictures=False,
    )
    Pillow.new("RGB", (8, 6)).save(tmp_path / "TQA" / "images" / "a.png")
    write_dataset(tmp_path, "WebQA", [make_item(0, "", [], "x")], dataset="DocVQA")
    write_dataset(tmp_path, "Mine", [make_item(0, "", [], "x")])
    report = MileBench().data.check(MileBench(), tmp_path)
    text = "\n".join(report.problems)
    for expected in (
        "sample 0: mark {image#4} has no picture",
        "sample 1: the picture images/gone.png is not there",
        "sample 2: picture a.png has no mark",
        "sample 3: the response 'green' is none of the choices",
        "the sample_id 3 stands 2 times",
        "sample 4: the picture images/../../../etc/passwd lies outside",
        "holds the dataset DocVQA, not WebQA",
        "Mine is none of the 29 datasets",
    ):
        assert expected in text
    assert len(report.problems) == 8
    assert report.contents[0].startswith("TQA.json: 6 samples")
    assert "27 of 29 datasets are not there" in report.contents[-1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"<html>Sign in</html>", "is an HTML page"),
        (b"\x00\x01\x02\x03", "is no picture"),
        (None, "is cut short"),
    ],
)
def test_check_looks_into_pictures(tmp_path: Path, content: bytes | None, message: str) -> None:
    write_dataset(tmp_path, "TQA", [make_item(9, "{image#1}", ["a.jpg"], "red", ["red", "blue"])])
    assert MileBench().data.check(MileBench(), tmp_path).problems == ()
    file = tmp_path / "TQA" / "images" / "a.jpg"
    file.write_bytes(file.read_bytes()[:-20] if content is None else content)
    (problem,) = MileBench().data.check(MileBench(), tmp_path).problems
    assert f"sample 9: the picture images/a.jpg {message}" in problem


def test_check_says_once_that_no_picture_is_there(tmp_path: Path) -> None:
    items = [make_item(n, "{image#1}", [f"{n}.png"], "red", ["red", "blue"]) for n in range(5)]
    write_dataset(tmp_path, "TQA", items, pictures=False)
    (problem,) = MileBench().data.check(MileBench(), tmp_path).problems
    assert "images/0.png is not there, nor are the 4 others" in problem


def test_check_of_an_empty_or_missing_folder(tmp_path: Path) -> None:
    assert "none of the 29 datasets" in MileBench().data.check(MileBench(), tmp_path).problems[0]
    assert "no folder" in MileBench().data.check(MileBench(), tmp_path / "nowhere").problems[0]


def test_annotations_may_hold_numbers_as_answers(tmp_path: Path) -> None:
    file = write_dataset(tmp_path, "TQA", [make_item(0, "", [], "2", ["1", "2"])])
    content = json.loads(file.read_text())
    content["data"][0]["response"] = 2
    content["data"][0]["task_instance"]["choice_list"] = [1, 2]
    file.write_text(json.dumps(content))
    (sample,) = MileBench().load(tmp_path, "milebench/TQA")
    assert (sample.key, sample.answers) == (1, ("2",))
