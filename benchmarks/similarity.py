"""Free-form scoring: 860 answers against their labels, both sides on the same weights and the same cores.

Peer: sentence-transformers, each answer encoded alone (each label once, which favours it). Limit: ≥ 10 × its
speed. Where torch is not installed, our own encoder one answer at a time stands in, and no limit holds.
The answers are real ones where `../shared/parity` holds them, else made up with as many repeats.

    python benchmarks/similarity.py
"""

from __future__ import annotations

import csv
import importlib.util
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vivant.metrics.similarity import SentenceEncoder, best_similarity, load_encoder

LIMIT = 10.0
ROUNDS = 3
REAL = "mime/results/mime-cropped/zero-shot/all/score_ff_qwen25vl_Qwen_Qwen2.5-VL-7B-Instruct.csv"
Encode = Callable[[str], NDArray[np.float32]]


def answers() -> tuple[list[str], list[list[str]], str]:
    """860 answers, the labels of each, and where they come from."""
    file = Path(__file__).parents[2] / "shared" / "parity" / REAL
    if file.is_file():
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        labels = [json.loads(row["ground_truth"].replace("'", '"')) for row in rows]
        return [row["output_text"] for row in rows], labels, "a published model's"
    rng = random.Random(0)
    verbs = ("swinging", "throwing", "lifting", "pointing at", "holding", "pulling", "waving", "rolling")
    things = (
        "a ball",
        "an imaginary bow",
        "something",
        "a bat",
        "an arrow",
        "a violin",
        "their arms",
        "a rope",
    )
    where = (
        "",
        " in a room",
        " with both hands",
        " while standing",
        " towards the camera",
        " above the head",
    )
    pool = [f"{v} {t}{w}" for v in verbs for t in things for w in where]
    labels = [[f"{rng.choice(verbs)} {rng.choice(things)}"] for _ in range(86) for _ in range(10)]
    return rng.choices(pool, k=860), labels, "made up"


def one_by_one(encode: Encode, texts: Sequence[str], labels: Sequence[Sequence[str]]) -> list[float]:
    """The usual way: encode an answer, compare it with its labels, go on."""
    known: dict[str, NDArray[np.float32]] = {}
    scores = []
    for text, group in zip(texts, labels, strict=True):
        vector = encode(text)
        for label in group:
            if label not in known:
                known[label] = encode(label)
        scores.append(max(float(vector @ known[label]) for label in group))
    return scores


def peer(encoder: SentenceEncoder) -> tuple[str, Encode, bool]:
    """The peer's name, how it encodes one text, and whether it is the one that the limit is about."""
    if importlib.util.find_spec("torch") and importlib.util.find_spec("sentence_transformers"):
        import torch
        from sentence_transformers import SentenceTransformer, __version__

        model = SentenceTransformer(str(encoder.files.tokenizer.parent), device="cpu")

        def encode(text: str) -> NDArray[np.float32]:
            return np.asarray(model.encode(text, normalize_embeddings=True, show_progress_bar=False))

        # On texts this short a second thread gains little, and on a busy machine the two wait for each other.
        torch.set_num_threads(1)
        return f"sentence-transformers {__version__}, each answer alone", encode, True
    own = "our own encoder, each answer alone (torch is not installed)"
    return own, lambda text: encoder.encode([text])[0], False


def clocks() -> NDArray[np.float64]:
    """Seconds passed, and seconds of CPU that this process has used."""
    return np.array([time.perf_counter(), time.process_time()])


def main() -> int:
    """Measure both sides in turns; the smaller of the ratios of time and of CPU, in the best rounds, counts."""
    texts, labels, source = answers()
    start = clocks()
    encoder = load_encoder()
    loading, _ = clocks() - start
    name, encode, real = peer(encoder)
    encode("warm up")
    ours, theirs = [], []
    for _ in range(ROUNDS):
        start = clocks()
        expected = one_by_one(encode, texts, labels)
        theirs.append(clocks() - start)
        start = clocks()
        found = best_similarity(texts, labels, encoder)
        ours.append(clocks() - start)
    (wall, cpu), (peer_wall, peer_cpu) = np.min(ours, axis=0), np.min(theirs, axis=0)
    ratio = min(peer_wall / wall, peer_cpu / cpu)
    apart = max(abs(a - b) for a, b in zip(found, expected, strict=True))
    print(f"answers  {len(texts)}, {len(set(texts))} distinct, {source}")
    print(f"peer     {name}: {peer_wall:.2f} s, {peer_cpu:.2f} s of CPU")
    print(f"vivant   {wall:.2f} s, {cpu:.2f} s of CPU (loading once: {loading:.2f} s)")
    print(f"scores   differ by at most {apart:.1e}")
    print(f"ratios   time {peer_wall / wall:.1f}, CPU {peer_cpu / cpu:.1f}")
    if not real:
        print("limit    is about sentence-transformers: install it and torch to measure")
        return 0
    print(f"limit    both at least {LIMIT:.0f}  {'ok' if ratio >= LIMIT else 'MISSED'}")
    return 0 if ratio >= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
