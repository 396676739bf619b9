"""The transformers backend: batches against one request at a time, on a tiny Qwen2.5-VL on the processor.

Both sides are the same worker, the same checkpoint and the same requests (a picture and a question of varying
length, 32 tokens of reply); only `batch_size` differs. Limit: batches of 8 reach at least twice the throughput
of one by one. The best of three rounds each, in turns, so that other load on the machine favours neither.

    python benchmarks/transformers_batch.py [requests]
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path

from vivant.core.types import Decoding, Picture, Request, Text, Turn

LIMIT = 2.0
ROUNDS = 3
SIZES = (1, 8)


def requests(count: int) -> list[Request]:
    """Questions of 20 to 200 words about a picture each."""
    from PIL import Image

    chance = random.Random(0)
    made: list[Request] = []
    for number in range(count):
        buffer = BytesIO()
        Image.new("RGB", (64, 48), (number % 256, 80, 120)).save(buffer, "PNG")
        shown = Picture(buffer.getvalue(), "image/png", 64, 48)
        words = " ".join(chance.choice(("which", "one", "is", "it")) for _ in range(chance.randint(20, 200)))
        turn = Turn("user", (shown, Text(words)))
        made.append(Request(turns=(turn,), decoding=Decoding(max_tokens=32), key=str(number)))
    return made


async def measure(place: Path, count: int) -> dict[int, float]:
    """Seconds for all requests, by batch size: the best round."""
    from vivant.models.base import ModelOptions
    from vivant.models.transformers import Transformers

    asked = requests(count)
    models = {
        size: Transformers(str(place), ModelOptions(values={"batch_size": size, "device": "cpu"}))
        for size in SIZES
    }
    best = dict.fromkeys(SIZES, float("inf"))
    for model in models.values():
        await model.open()
    try:
        for _ in range(ROUNDS):
            for size, model in models.items():
                began = time.perf_counter()
                replies = await asyncio.gather(*(model.generate(one) for one in asked))
                best[size] = min(best[size], time.perf_counter() - began)
                assert all(reply.tokens_out for reply in replies), replies[0]
    finally:
        for model in models.values():
            await model.close()
    return best


def main() -> None:
    """Print both rates and their ratio; exit with 1 where it is below the limit."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "packages" / "vivant"))
    from tests.support.tiny_models import build

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    with tempfile.TemporaryDirectory() as folder:
        best = asyncio.run(measure(build("qwen", Path(folder) / "qwen"), count))
    for size, seconds in best.items():
        print(f"batch_size {size}: {count / seconds:6.1f} requests/s")
    ratio = best[SIZES[0]] / best[SIZES[1]]
    print(f"ratio {ratio:.1f} (limit {LIMIT})")
    sys.exit(0 if ratio >= LIMIT else 1)


if __name__ == "__main__":
    main()
