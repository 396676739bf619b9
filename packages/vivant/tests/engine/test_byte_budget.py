"""Requests wait for room before their media are loaded."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from vivant.core.types import Reply, Request
from vivant.engine import runner as runner_module
from vivant.engine.byte_budget import ByteBudget
from vivant.engine.evaluation import evaluate
from vivant.media.loading import MediaLoader


def test_room_is_given_in_turn_and_one_request_always_fits() -> None:
    async def main() -> list[str]:
        budget = ByteBudget(100)
        order: list[str] = []

        async def take(name: str, size: int) -> None:
            await budget.acquire(size)
            order.append(name)

        await take("large", 500)
        tasks = [asyncio.create_task(take(name, size)) for name, size in (("b", 60), ("c", 60), ("d", 10))]
        await asyncio.sleep(0)
        assert order == ["large"]
        budget.release(500)
        await asyncio.sleep(0)
        assert order == ["large", "b"]
        budget.correct(60, 30)
        await asyncio.gather(*tasks)
        assert order == ["large", "b", "c", "d"] and budget.used == 100
        cancelled = asyncio.create_task(take("e", 50))
        await asyncio.sleep(0)
        cancelled.cancel()
        budget.release(100)
        await asyncio.sleep(0)
        assert budget.used == 0
        return order

    assert asyncio.run(main())[-1] == "d"


def test_a_run_loads_no_more_pictures_than_there_is_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        Image.effect_noise((200, 200), 50 + number).save(tmp_path / f"{number}.png")
    size = max(file.stat().st_size for file in tmp_path.glob("*.png"))
    lines = [{"image": f"{n}.png", "question": "What?", "answer": "a"} for n in range(12)]
    questions = tmp_path / "mine.jsonl"
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    held = most = 0
    load = MediaLoader.load

    async def counted(self: MediaLoader, *given: Any, **named: Any) -> Any:
        nonlocal held, most
        held += 1
        most = max(most, held)
        return await load(self, *given, **named)

    async def generate(self: Any, request: Request) -> Reply:  # noqa: ARG001
        nonlocal held
        await asyncio.sleep(0.01)
        held -= 1
        return Reply(text="a")

    from vivant.models.openai import OpenAI

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr(MediaLoader, "load", counted)
    monkeypatch.setattr(OpenAI, "generate", generate)
    monkeypatch.setattr(runner_module, "ByteBudget", lambda: ByteBudget(int(3.2 * 2.75 * size)))
    run = evaluate(
        str(questions),
        "openai/m",
        out=tmp_path / "run",
        base_url="http://127.0.0.1:9/v1",
        concurrency=12,
        cache="off",
    )
    assert len(run.records()) == 12 and all(record.reply.status == "ok" for record in run.records().values())
    assert 1 <= most <= 4
