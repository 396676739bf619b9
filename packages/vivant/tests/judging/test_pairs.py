"""Two answers beside each other: a judge sees both orders, and a verdict belongs to its opponent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tests.support.fault_server import Act, serving
from tests.support.mmie_kit import make_entry, make_part, write_answers
from vivant.judging.options import JudgeOptions
from vivant.judging.pairs import decide_winner, find_pairs, judge_pairs
from vivant.runs.importing import import_answers
from vivant.runs.run import Run, load_runs
from vivant.runs.settings import digest


def test_a_pair_is_one_unit() -> None:
    expected = {
        ("first", "second"): "first",
        ("second", "first"): "second",
        ("first", "first"): "inconsistent",
        ("second", "second"): "inconsistent",
        ("tie", "tie"): "tie",
        ("first", "tie"): "first",
        ("tie", "first"): "second",
    }
    assert {places: decide_winner(*places) for places in expected} == expected
    assert decide_winner(None, "first") == decide_winner("tie", None) == "unparsed"


def test_pairs_are_judged_in_both_orders_with_both_models_pictures(tmp_path: Path) -> None:
    runs = []
    for number, model in enumerate(("a", "b")):
        items = [make_entry("SA-1", [make_part(f"by {model}", f"images/{number + 1}.png")], model=model)]
        runs += import_answers(
            ["mmie"], write_answers(tmp_path / model, items), str(tmp_path / "runs" / model)
        )

    def prefers_b(_: int, body: dict[str, Any]) -> Act:
        text = "".join(piece.get("text", "") for piece in body["messages"][1]["content"])
        first = text.split("<<<first answer")[1].split("<<<end first answer")[0]
        return Act(f"### Feedback\nx\n### Better\n{'first' if 'by b' in first else 'second'}")

    with serving(prefers_b) as server:
        options = JudgeOptions(model="openai/j", base_url=server.url)
        (pair,) = judge_pairs(runs[0], runs[1], options)
        assert pair.winner == "second"
        assert len(server.requests) == 2
        pictures = [
            [p["image_url"]["url"] for p in body["messages"][1]["content"] if p["type"] == "image_url"]
            for body in server.requests
        ]
        assert [len(urls) for urls in pictures] == [3, 3]
        assert len({url for urls in pictures for url in urls[1:]}) == 2
        assert judge_pairs(runs[0], runs[1], options) == [pair]
        assert len(server.requests) == 2


def test_opponents_in_folders_of_one_name_keep_their_own_verdicts(tmp_path: Path) -> None:
    texts = {"one/base": "some words", "x/run": "few", "y/run": "very many more words"}
    for name, text in texts.items():
        folder = write_answers(tmp_path / "answers" / name, [make_entry("SA-1", text, model="m")])
        import_answers(["mmie"], folder, str(tmp_path / "runs" / name))
    base, x, y = load_runs([tmp_path / "runs" / name for name in texts])
    # Equal settings, as two runs of one model have.
    manifest = msgspec.structs.replace(y.manifest, fingerprint=x.manifest.fingerprint)
    y.dir.manifest_file.write_bytes(msgspec.json.encode(manifest))
    base, x, y = load_runs([base, x.path, y.path])

    def prefers_length(_: int, body: dict[str, Any]) -> Act:
        pieces = body["messages"][1]["content"]
        text = pieces if isinstance(pieces, str) else "".join(piece.get("text", "") for piece in pieces)
        first, second = (
            len(text.split(f"<<<{which} answer")[1].split("<<<end")[0].split())
            for which in ("first", "second")
        )
        return Act(f"### Feedback\nx\n### Better\n{'first' if first > second else 'second'}")

    def stored(opponent: Run) -> list[str]:
        return [pair.winner for *_, pairs in find_pairs(base, opponent, "paper") for pair in pairs]

    with serving(prefers_length) as server:
        options = JudgeOptions(model="openai/j", base_url=server.url)
        judge_pairs(base, x, options)
        # The name that such a folder had before: the same for both opponents.
        (folder,) = (base.path / "judgements" / "pairs").iterdir()
        older = f"{folder.name[:8]}-{digest(x.manifest.fingerprint + 'run')[:8]}"
        folder.rename(folder.with_name(older))
        assert (stored(x), stored(y)) == (["first"], [])
        judge_pairs(base, y, options)
        judge_pairs(base, Run(x.path), options)
        assert len(server.requests) == 4
    for opponents in ((x, y), (Run(x.path), Run(y.path))):
        assert [stored(opponent) for opponent in opponents] == [["first"], ["second"]]
