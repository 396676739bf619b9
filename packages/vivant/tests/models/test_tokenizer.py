"""A checkpoint's own tokenizer: pieces that join to the text, and contexts that are cut by it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from vivant.core.errors import UsageError
from vivant.engine.options import RunOptions
from vivant.engine.run_planning import plan_run
from vivant.models.tokenizer import load_tokenizer


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a byte-level tokenizer that knows a few words."""
    folder = tmp_path_factory.mktemp("checkpoint")
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(["the car turns left and the car turns right"] * 50, trainer)
    made.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text("{}")
    return folder


def test_words_are_pieces_of_the_text(checkpoint: Path) -> None:
    pieces = load_tokenizer(str(checkpoint))
    assert pieces is not None
    assert pieces("the car turns left") == ["the", " car", " turns", " left"]
    assert pieces("") == []


@given(text=st.text(max_size=40))
def test_pieces_join_to_the_text(checkpoint: Path, text: str) -> None:
    pieces = load_tokenizer(str(checkpoint))
    assert pieces is not None
    assert "".join(pieces(text)) == text


def test_without_a_tokenizer_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_tokenizer(str(tmp_path)) is None
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    assert load_tokenizer("nobody/nothing") is None
    assert load_tokenizer("no/such/name") is None
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(UsageError, match=r"tokenizer\.json cannot be read as a tokenizer"):
        load_tokenizer(str(tmp_path))


@pytest.mark.skipif(
    find_spec("torch") is None or find_spec("transformers") is None, reason="needs vivant[transformers]"
)
def test_a_context_is_cut_by_the_models_own_tokenizer(checkpoint: Path) -> None:
    def notes(model: str, **limits: int) -> set[str]:
        plan = plan_run(RunOptions(selectors=("milebench",), model=model, data=("mini",), limits=limits)).plan
        return {note.partition(",")[0].partition("(")[2] for job in plan.jobs() for note in job.notes}

    narrow = {"max_context_len": 200, "n_tokens_per_image": 30}
    assert notes(f"transformers/{checkpoint}", **narrow) == {"by the model's tokenizer"}
    assert notes("first", **narrow) == {"estimated at 4 characters each"}
    assert notes(f"transformers/{checkpoint}") == set()
    cut = plan_run(
        RunOptions(
            selectors=("milebench",), model=f"transformers/{checkpoint}", data=("mini",), limits=narrow
        )
    )
    assert cut.plan.settings.model["cut_by"] == "its tokenizer"
